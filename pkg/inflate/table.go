package inflate

import (
	"math/bits"
	"slices"
)

// The widths of the tables in bits. A code of up to so many bits needs one lookup. A longer code
// needs a second lookup in a subtable for the rest of its bits.
const (
	litBits  = 11
	distBits = 9
	lenBits  = 7 // codes for lengths are not longer
	maxBits  = 15

	litSub  = 1 << (maxBits - litBits)
	distSub = 1 << (maxBits - distBits)
)

// The sizes of the alphabets of RFC 1951.
const (
	litSymbols  = 288 // 286 and 287 have codes only in the fixed code, and no meaning
	distSymbols = 30
	lenSymbols  = 19
	endOfBlock  = 256
)

// An entry of a table is the meaning of a code.
//
//	bits  0-5   how many bits to remove: the code and its extra bits
//	bits  8-11  how many bits the code has; 0 for no code
//	bits 12-14  a literal, a link to a subtable, the end of a block, or no code
//	bits 16-31  the literal, the base value, or the index of the subtable
type entry = uint32

const (
	entryTaken   entry = 63
	entryCode          = 8 // shift
	entryLink    entry = 1 << 12
	entryOther   entry = 1 << 13 // with entryLink: no code; alone: the end of a block
	entryBad           = entryLink | entryOther
	entryLiteral entry = 1 << 14
	entryValue         = 16 // shift
)

// The tables have room for every complete code, because a subtable has at least two codes.
type (
	litTable  [1<<litBits + litSymbols/2*litSub]entry
	distTable [1<<distBits + (distSymbols+2)/2*distSub]entry
	lenTable  [1 << lenBits]entry
)

// The entries of the symbols, without the lengths of their codes.
var (
	litEntries  = literalsAndLengths()
	distEntries = distances()
	lenEntries  = fixedTable()
)

func literalsAndLengths() (symbols [litSymbols]entry) {
	for i := range endOfBlock {
		symbols[i] = entryLiteral | entry(i)<<entryValue
	}
	symbols[endOfBlock] = entryOther
	length := entry(3)
	for i := endOfBlock + 1; i < 285; i++ {
		extra := entry(max(0, (i-261)/4))
		symbols[i] = length<<entryValue | extra
		length += 1 << extra
	}
	symbols[285] = 258 << entryValue
	symbols[286], symbols[287] = entryBad, entryBad
	return symbols
}

func distances() (symbols [distSymbols + 2]entry) {
	distance := entry(1)
	for i := range distSymbols {
		extra := entry(max(0, (i-2)/2))
		symbols[i] = distance<<entryValue | extra
		distance += 1 << extra
	}
	symbols[30], symbols[31] = entryBad, entryBad
	return symbols
}

func fixedTable() (symbols [lenSymbols]entry) {
	for i := range symbols {
		symbols[i] = entry(i) << entryValue
	}
	return symbols
}

// fill makes the table of the code whose symbols have these lengths in bits; 0 means that a symbol
// has no code. Codes of more than width bits are in subtables. It reports whether the lengths are
// valid: the code is complete, or it has no symbol, or it has one symbol of one bit.
func fill(table []entry, width int, lengths []uint8, symbols []entry) bool {
	var count, next [maxBits + 2]uint16
	used := 0
	for _, n := range lengths {
		if n != 0 {
			count[n&15]++
			used++
		}
	}
	left := 1 // codes of n bits that no symbol has
	for n := 1; n <= maxBits; n++ {
		if left = left<<1 - int(count[n]); left < 0 {
			return false
		}
		next[n+1] = next[n] + count[n]
	}
	if left > 0 {
		return fillPoor(table[:1<<width], lengths, symbols, used, int(count[1]))
	}
	var sorted [litSymbols]uint16
	for symbol, n := range lengths {
		if n != 0 {
			sorted[next[n]%litSymbols] = uint16(symbol)
			next[n]++
		}
	}
	fillComplete(table, width, lengths, symbols, sorted[:used])
	return true
}

// fillPoor makes the table of a code without a symbol, or with one symbol of one bit. It refuses
// any other code that is not complete.
func fillPoor(table []entry, lengths []uint8, symbols []entry, used, ones int) bool {
	if used > 1 || used != ones {
		return false
	}
	table[0], table[1] = entryBad, entryBad
	if symbol := slices.Index(lengths, 1); symbol >= 0 {
		table[0] = symbols[symbol] + 1 + 1<<entryCode
		table[1] += 1 + 1<<entryCode
	}
	double(table, 2, len(table))
	return true
}

// fillComplete makes the table of a complete code. sorted has the symbols by the length of their
// codes. The table doubles before the codes with one more bit.
func fillComplete(table []entry, width int, lengths []uint8, symbols []entry, sorted []uint16) {
	code, size := 0, 1
	subtable, sub := 1<<width, 1<<(maxBits-width)
	last, before := -1, 0
	for _, symbol := range sorted {
		n := int(lengths[symbol])
		code <<= n - before
		before = n
		row := int(bits.Reverse16(uint16(code)) >> (16 - n)) // the first bit of a code is the lowest
		code++
		size = double(table, size, 1<<min(n, width))
		if n <= width {
			table[row] = symbols[symbol] + entry(n)*(1+1<<entryCode)
			continue
		}
		if prefix := row & (size - 1); prefix != last {
			if last >= 0 {
				subtable += sub
			}
			last = prefix
			table[prefix] = entryLink | entry(subtable)<<entryValue
		}
		rest := n - width
		for i := row >> width; i < sub; i += 1 << rest {
			table[subtable+i] = symbols[symbol] + entry(rest)*(1+1<<entryCode)
		}
	}
	double(table, size, 1<<width)
}

// double repeats the first size entries until the table has so many.
func double(table []entry, size, until int) int {
	for ; size < until; size *= 2 {
		copy(table[size:2*size], table[:size])
	}
	return size
}
