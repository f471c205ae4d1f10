package netstate

import "math"

// order describes objects that the kernel evaluates in the order of its list, and adds at the end.
type order struct {
	id    func(m []byte) string // identifies an object
	key   func(m []byte) string // only objects with the same key have an order among them
	fixed func(m []byte) bool   // the object cannot be removed and added again unchanged
}

// reorder returns how the wanted objects get into their order: by removing those of off, and then
// adding those of on at the end. Both begin at the first object that is missing or in another
// place. Objects that other programs added in between end up behind them.
func reorder(wanted, have [][]byte, o order) (off, on [][]byte) {
	at, known := map[string]int{}, map[string]bool{}
	for i, m := range have {
		at[o.id(m)] = i
	}
	after := map[string]int{} // the index of the last object in its place, by key
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
