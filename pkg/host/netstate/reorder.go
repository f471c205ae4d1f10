package netstate

import "math"

// order says how things stand that the kernel lists in the order in which it goes by them, where it
// puts a new one behind the others.
type order struct {
	id    func(m []byte) string // what tells one from another
	key   func(m []byte) string // those of one key stand behind each other
	fixed func(m []byte) bool   // nobody can take it off and bring it back as it is
}

// reorder says how the wanted ones get into their order: by taking those of off away, and then
// adding those of on behind the others. Both begin with the first one that is gone or stands
// elsewhere. What others have put among them comes to stand behind them.
func reorder(wanted, have [][]byte, o order) (off, on [][]byte) {
	at, known := map[string]int{}, map[string]bool{}
	for i, m := range have {
		at[o.id(m)] = i
	}
	after := map[string]int{} // the number of the last that stands right, by key
	for _, m := range wanted {
		id, key := o.id(m), o.key(m)
		known[id] = true
		switch i, there := at[id]; {
		case there && o.fixed(m):
		case there && i >= after[key]:
			after[key] = i
		default:
			if there {
				m = have[i]
				off = append(off, m)
			}
			on, after[key] = append(on, m), math.MaxInt
		}
	}
	for _, m := range have {
		if after[o.key(m)] == math.MaxInt && !known[o.id(m)] && !o.fixed(m) {
			off, on = append(off, m), append(on, m)
		}
	}
	return off, on
}
