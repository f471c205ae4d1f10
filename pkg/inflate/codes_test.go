package inflate

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// bitWriter writes DEFLATE by hand, with streams that no other writer makes.
type bitWriter struct {
	out   []byte
	count int
}

func (w *bitWriter) bits(v, n int) {
	for i := range n {
		if w.count%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[len(w.out)-1] |= byte(v>>i&1) << (w.count % 8)
		w.count++
	}
}

// code writes a code. Its first bit is its highest.
func (w *bitWriter) code(v, n int) {
	for i := n - 1; i >= 0; i-- {
		w.bits(v>>i&1, 1)
	}
}

// dynamic begins a block with codes of its own, of these lengths. Each length has five bits, from 0
// to 15, and there are so many that their own code is complete.
func (w *bitWriter) dynamic(lit, dist []int) {
	w.bits(5, 3)
	w.bits(len(lit)-257, 5)
	w.bits(len(dist)-1, 5)
	w.bits(15, 4)
	for _, symbol := range lenOrder {
		n := 4
		if symbol > 15 {
			n = 0
		}
		w.bits(n, 3)
	}
	for _, n := range append(slices.Clone(lit), dist...) {
		w.code(n, 4)
	}
}

// lengthsOf returns a list of n lengths, of which these are not 0.
func lengthsOf(n int, of map[int]int) []int {
	all := make([]int, n)
	for symbol, length := range of {
		all[symbol] = length
	}
	return all
}

// Codes that are incomplete, or have too many, are judged as compress/flate judges them. Only a
// single code of one bit and no code at all are accepted, and they are refused when they are used.
func TestIncompleteCodes(t *testing.T) {
	lits := map[string]map[int]int{
		"none": {}, "end alone": {256: 1}, "end alone, two bits": {256: 2}, "literal alone": {'a': 1},
		"two": {'a': 1, 256: 1}, "three": {'a': 1, 'b': 2, 256: 2}, "first": {0: 1, 256: 1}, "without end": {'a': 1, 'b': 1},
		"room left": {'a': 2, 'b': 2, 256: 2}, "too many": {'a': 1, 'b': 1, 256: 1},
		"a match": {'a': 2, 'b': 2, 256: 2, 257: 2},
		"long": {
			'a': 1, 'b': 2, 257: 3, 258: 4, 259: 5, 260: 6, 265: 7, 266: 8, 284: 9, 285: 10,
			'c': 11, 'd': 12, 'e': 13, 'f': 14, 'g': 15, 256: 15,
		},
	}
	dists := map[string]map[int]int{
		"none": {}, "one": {0: 1}, "one, two bits": {0: 2}, "another": {29: 1}, "two": {0: 1, 1: 1},
		"room left": {0: 1, 1: 2}, "too many": {0: 1, 1: 1, 2: 1},
		"long": {
			0: 1, 1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 10, 10: 11, 11: 12, 12: 13, 13: 14, 14: 15, 15: 15,
		},
	}
	random := rand.New(rand.NewPCG(5, 6))
	seen := map[string]int{}
	for litName, lit := range lits {
		for distName, dist := range dists {
			for _, size := range []int{257, 286} {
				var w bitWriter
				if size == 257 && slices.Max(slices.AppendSeq([]int{0}, maps.Keys(lit))) > 256 {
					continue
				}
				w.dynamic(lengthsOf(size, lit), lengthsOf(30, dist))
				for range 30 {
					body := w
					body.out = slices.Clone(w.out)
					for range random.IntN(80) {
						body.bits(random.IntN(4)/3, 1)
					}
					seen[same(t, wrapped(body.out...), fmt.Sprint(litName, "/", distName)).err]++
					stream := wrapped(body.out...)
					same(t, stream[:len(stream)-8], fmt.Sprint(litName, "/", distName, ", cut"))
				}
			}
		}
	}
	for _, want := range []string{"corrupt", "cut", "gzip: invalid checksum"} {
		if seen[want] == 0 {
			t.Errorf("nothing was %s: %v", want, seen)
		}
	}
}

// The code for lengths, the numbers of codes, and the repeats are judged as compress/flate judges
// them.
func TestCodesForLengths(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 10_000 {
		var w bitWriter
		w.bits(5, 3)
		w.bits(random.IntN(32), 5)
		w.bits(random.IntN(32), 5)
		lens := random.IntN(16)
		w.bits(lens, 4)
		for range lens + 4 {
			w.bits([]int{0, 0, 1, 2, 2, 3, 3, 4, 7}[random.IntN(9)], 3)
		}
		for range random.IntN(400) {
			w.bits(random.IntN(256), 8)
		}
		same(t, wrapped(w.out...), "code for lengths")
	}
}

// The blocks have all symbols of the fixed code, also those without a meaning, and all extra bits.
func TestFixedCode(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 3000 {
		var w bitWriter
		w.bits(3, 3)
		for range random.IntN(2000) {
			w.code(0x30+random.IntN(144), 8)
		}
		for range random.IntN(30) {
			switch random.IntN(12) {
			case 0:
				w.code(0xc0+random.IntN(8), 8) // 280 to 287
			case 1:
				w.code(0x190+random.IntN(112), 9)
			default:
				w.code(1+random.IntN(23), 7)
			}
			w.code(random.IntN(32)>>random.IntN(3), 5)
			w.bits(random.IntN(1<<13)>>random.IntN(13), random.IntN(6))
		}
		w.code(0, 7)
		same(t, wrapped(w.out...), "fixed")
	}
}

// Blocks with the fixed code and blocks with codes of their own follow each other in any order.
func TestCodesInTurn(t *testing.T) {
	for order := range 1 << 6 {
		var w bitWriter
		for i := range 6 {
			if order>>i&1 == 0 {
				w.bits(1<<1, 3)
				w.code(0x30+'x', 8)
				w.code(0, 7)
				continue
			}
			start := w.count
			w.dynamic(lengthsOf(257, map[int]int{'y': 1, 256: 1}), lengthsOf(1, nil))
			w.out[start/8] &^= 1 << (start % 8) // clears the mark of the last block
			w.code(0, 1)
			w.code(1, 1)
		}
		w.bits(3, 3)
		w.code(0, 7)
		if got := same(t, wrapped(w.out...), fmt.Sprint("order ", order)); len(got.out) != 6 {
			t.Errorf("order %b: %q, %s", order, got.out, got.err)
		}
	}
}

// Blocks without compression have every length near the sizes of the buffers.
func TestStoredBlocks(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	for _, sizes := range [][]int{{0}, {1}, {65535, 65535, 65535}, {0, 1, 0, 2}, {60_000, 5000, 300, 65535, 1, 40_000}} {
		var w bitWriter
		var from int
		for i, n := range sizes {
			last := 0
			if i == len(sizes)-1 {
				last = 1
			}
			w.bits(1+2, 3) // a fixed block with one literal, so the next begins within a byte
			w.out[len(w.out)-1] &^= 1 << ((w.count - 3) % 8)
			w.code(0x30+'x', 8)
			w.code(0, 7)
			w.bits(last, 3)
			for w.count%8 != 0 {
				w.bits(0, 1)
			}
			w.bits(n, 16)
			w.bits(^n&0xffff, 16)
			w.out = append(w.out, content[from:from+n]...)
			w.count += 8 * n
			from += n
		}
		same(t, wrapped(w.out...), fmt.Sprint(sizes))
		w.out[4]++
		same(t, wrapped(w.out...), fmt.Sprint(sizes, ", damaged"))
	}
}
