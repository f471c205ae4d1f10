package inflate

// block reads the header of a block.
func (z *Reader) block() error {
	head, err := z.src.number(3)
	if err != nil {
		return err
	}
	z.final = head&1 != 0
	switch head >> 1 {
	case 0:
		return z.storedHead()
	case 1:
		z.fixed()
	case 2:
		if err := z.dynamic(); err != nil {
			return err
		}
	default:
		return z.src.corrupt()
	}
	z.part = inCoded
	return nil
}

// endBlock continues with the next block, or with the trailer after the last one.
func (z *Reader) endBlock() {
	z.part = atBlock
	if z.final {
		z.part = atTrailer
	}
}

// storedHead reads the length of a stored block.
func (z *Reader) storedHead() error {
	z.src.take(z.src.count % 8)
	n, err := z.src.number(32)
	if err != nil {
		return err
	}
	if n&0xffff != ^n>>16&0xffff {
		return z.src.corrupt()
	}
	z.left, z.part = int(n&0xffff), inStored
	if z.left == 0 {
		z.endBlock()
	}
	return nil
}

// stored copies as much of a stored block as is available.
func (z *Reader) stored() error {
	for z.src.count >= 8 && z.left > 0 { // whole bytes, at most seven
		z.out[z.to] = byte(z.src.take(8))
		z.to++
		z.left--
	}
	if z.left > 0 && z.src.at == z.src.inEnd {
		if z.to > z.pending {
			return nil
		}
		if err := z.src.more(); err != nil {
			return noEOF(err)
		}
	}
	rest := z.src.in[z.src.at:z.src.inEnd]
	n := copy(z.out[z.to:], rest[:min(len(rest), z.left)])
	z.src.at += uint(n)
	z.to += uint(n)
	if z.left -= n; z.left == 0 {
		z.endBlock()
	}
	return nil
}

// fixed makes the tables of the fixed code of RFC 1951. It makes them once for several such blocks
// in a row: a block may have only ten bits, and a table for each would cost too much.
func (z *Reader) fixed() {
	if z.isFixed {
		return
	}
	var lengths [litSymbols + distSymbols + 2]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		case i < litSymbols:
			lengths[i] = 8
		default:
			lengths[i] = 5
		}
	}
	z.isFixed = z.codes(lengths[:], litSymbols)
}

// codes makes the tables of a block's two codes, and reports whether the lengths are valid.
func (z *Reader) codes(lengths []uint8, lit int) bool {
	z.isFixed, z.litNeed = false, uint(lengths[endOfBlock])
	return fill(z.lit[:], litBits, lengths[:lit], litEntries[:]) &&
		fill(z.dist[:], distBits, lengths[lit:], distEntries[:])
}

// lenOrder is the order of the code lengths of the code length code.
var lenOrder = [lenSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the codes of a block with dynamic codes.
func (z *Reader) dynamic() error {
	head, err := z.src.number(14)
	if err != nil {
		return err
	}
	lit, dist, lens := int(head&31)+257, int(head>>5&31)+1, int(head>>10)+4
	if lit > 286 || dist > distSymbols {
		return z.src.corrupt()
	}
	var order [lenSymbols]uint8
	for _, symbol := range lenOrder[:lens] {
		n, err := z.src.number(3)
		if err != nil {
			return err
		}
		order[symbol] = uint8(n)
	}
	var table lenTable
	if !fill(table[:], lenBits, order[:], lenEntries[:]) {
		return z.src.corrupt()
	}
	var all [286 + distSymbols]uint8
	lengths := all[:lit+dist]
	if err := z.lengths(&table, lengths); err != nil {
		return err
	}
	if !z.codes(lengths, lit) {
		return z.src.corrupt()
	}
	return nil
}

// lengths reads the code lengths of both codes of a block.
func (z *Reader) lengths(table *lenTable, lengths []uint8) error {
	for i := 0; i < len(lengths); {
		symbol, err := z.lenSymbol(table)
		if err != nil {
			return err
		}
		if symbol < 16 {
			lengths[i] = symbol
			i++
			continue
		}
		repeat, extra := 3, uint(3)
		var length uint8
		switch symbol {
		case 16:
			if extra = 2; i == 0 {
				return z.src.corrupt()
			}
			length = lengths[i-1]
		case 18:
			repeat, extra = 11, 7
		}
		more, err := z.src.number(extra)
		if err != nil {
			return err
		}
		if repeat += int(more); repeat > len(lengths)-i {
			return z.src.corrupt()
		}
		for range repeat {
			lengths[i] = length
			i++
		}
	}
	return nil
}

// lenSymbol reads a symbol of the code length code. It reads no byte after the symbol.
func (z *Reader) lenSymbol(table *lenTable) (uint8, error) {
	for {
		e := table[z.src.bits&(1<<lenBits-1)]
		switch n := uint(e & entryTaken); {
		case n > z.src.count:
			if err := z.src.need(z.src.count + 1); err != nil {
				return 0, noEOF(err)
			}
		case e&entryBad != 0:
			return 0, z.src.corrupt()
		default:
			z.src.take(n)
			return uint8(e >> entryValue), nil
		}
	}
}
