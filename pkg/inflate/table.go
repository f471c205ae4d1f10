package inflate

import (
	"math/bits"
	"slices"
)

// The widths of the tables: so many bits find an entry at once. Longer codes take a second look, in
// a subtable for what is left of them.
const (
	litBits  = 11
	distBits = 9
	lenBits  = 7 // lengths of codes have no longer ones
	maxBits  = 15

	litSub  = 1 << (maxBits - litBits)
	distSub = 1 << (maxBits - distBits)
)

// The sizes of the alphabets as RFC 1951 codes them.
const (
	litSymbols  = 288 // 286 and 287 have codes in the fixed code alone, and no meaning
	distSymbols = 30
	lenSymbols  = 19
	endOfBlock  = 256
)

// An entry of a table says what a code means.
//
//	bits  0-5   how many bits it takes: the code, with the extra bits after it
//	bits  8-11  how many bits the code takes, 0: there is none
//	bits 12-14  what it is: a literal, a link to a subtable, the end of a block, no code at all
//	bits 16-31  the literal, or what to add the extra bits to, or where the subtable begins
type entry = uint32

const (
	entryTaken   entry = 63
	entryCode          = 8 // shift
	entryLink    entry = 1 << 12
	entryOther   entry = 1 << 13 // with entryLink: no code; else the end of a block
	entryBad           = entryLink | entryOther
	entryLiteral entry = 1 << 14
	entryValue         = 16 // shift
)

// The tables have room for every complete code: a subtable stands for two codes at least.
type (
	litTable  [1<<litBits + litSymbols/2*litSub]entry
	distTable [1<<distBits + (distSymbols+2)/2*distSub]entry
	lenTable  [1 << lenBits]entry
)

// What the symbols mean, without the bits of their codes.
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

// fill makes the table of the code whose symbols have these lengths in bits, 0 for a symbol without
// a code. Codes of more than width bits are in subtables. It tells whether the lengths make a code:
// each row of bits is one symbol, or there is none, or one alone, of one bit.
func fill(table []entry, width int, lengths []uint8, symbols []entry) bool {
	var count, next [maxBits + 2]uint16
	used := 0
	for _, n := range lengths {
		if n != 0 {
			count[n&15]++
			used++
		}
	}
	left := 1 // rows of n bits without a symbol
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

// fillPoor makes the table of a code of no symbol, or of one of one bit. Other codes that leave a
// row of bits without a symbol are refused.
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

// fillComplete makes the table of a complete code. The symbols come by the length of their codes,
// so the table grows with them: before codes of one bit more it is doubled.
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

// double repeats the first size entries until there are so many.
func double(table []entry, size, until int) int {
	for ; size < until; size *= 2 {
		copy(table[size:2*size], table[:size])
	}
	return size
}
