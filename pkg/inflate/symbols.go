package inflate

import "encoding/binary"

// fast decodes symbols while one round can reach neither the end of in, nor the end of out, nor the
// end of the block. The function careful decodes the rest.
//
// A round decodes up to three literals and one match. It reads in and writes out by words, and so
// passes the bytes that count: inSlack and outSlack are the room for that. It looks up the entry of
// the next symbol before it copies the match, so that the processor does both at once.
func (z *Reader) fast() error {
	if z.src.inEnd < inSlack || z.src.at >= z.src.inEnd-inSlack {
		return nil
	}
	atEnd := min(z.src.inEnd, inSize) - inSlack
	in, out, lit, dist := &z.src.in, &z.out, &z.lit, &z.dist
	at, buf, count := refill(in, z.src.at, z.src.bits, z.src.count)
	to, bad := z.to, false
	e := lit[buf&(1<<litBits-1)]
	for at < atEnd && to < outFull {
		at, buf, count = refill(in, at, buf, count)
		if e&entryLiteral != 0 {
			out[to] = byte(e >> entryValue)
			to++
			buf, count = skip(e, buf, count)
			e = lit[buf&(1<<litBits-1)]
			if e&entryLiteral != 0 {
				out[to] = byte(e >> entryValue)
				to++
				buf, count = skip(e, buf, count)
				e = lit[buf&(1<<litBits-1)]
				if e&entryLiteral != 0 {
					out[to] = byte(e >> entryValue)
					to++
					buf, count = skip(e, buf, count)
					e = lit[buf&(1<<litBits-1)]
					continue
				}
			}
		}
		if e&entryBad != 0 {
			if e&entryBad != entryLink {
				break // the end of the block or no code: careful finds out which
			}
			if e = lit[e>>entryValue+entry(buf>>litBits)&(litSub-1)]; e&entryBad != 0 {
				break
			}
			buf >>= litBits
			count -= litBits
			if e&entryLiteral != 0 {
				out[to] = byte(e >> entryValue)
				to++
				buf, count = skip(e, buf, count)
				e = lit[buf&(1<<litBits-1)]
				continue
			}
		}
		length := value(e, buf)
		buf, count = skip(e, buf, count)
		if count < maxDistance+litBits {
			at, buf, count = refill(in, at, buf, count)
		}
		d := dist[buf&(1<<distBits-1)]
		if d&entryBad == entryLink {
			d = dist[d>>entryValue+entry(buf>>distBits)&(distSub-1)]
			buf >>= distBits
			count -= distBits
		}
		distance := value(d, buf)
		if bad = distance > to || d&entryBad != 0; bad {
			break
		}
		buf, count = skip(d, buf, count)
		e = lit[buf&(1<<litBits-1)]
		if from := to - distance; distance < 16 || length > 32 {
			repeat(out, to, distance, length)
		} else {
			*(*[16]byte)(out[to : to+16]) = *(*[16]byte)(out[from : from+16])
			*(*[16]byte)(out[to+16 : to+32]) = *(*[16]byte)(out[from+16 : from+32])
		}
		to += length
	}
	z.src.at, z.to, z.src.bits, z.src.count = at, to, buf&(1<<count-1), count
	if bad {
		return z.src.corrupt()
	}
	return nil
}

// maxDistance is the maximum number of bits of a distance, with its extra bits.
const maxDistance = maxBits + 13

// refill reads until buf has at least 56 bits. It reads whole words: the bits above count are right
// too, and are read again.
func refill(in *[inSize]byte, at uint, buf uint64, count uint) (uint, uint64, uint) {
	return at + (7 - count>>3&7), buf | binary.LittleEndian.Uint64(in[at:at+8])<<(count&63), count | 56
}

// skip removes the bits of a symbol.
func skip(e entry, buf uint64, count uint) (uint64, uint) {
	return buf >> (e & entryTaken), count - uint(e&entryTaken)
}

// value returns a length or a distance: the base value of the code plus the extra bits.
func value(e entry, buf uint64) uint {
	return uint(e>>entryValue) + uint(buf&(1<<(e&entryTaken)-1)>>(e>>entryCode&15))
}

// repeat copies length bytes to out[to:] from distance bytes before. The two ranges may overlap. It
// writes by words, and writes up to 15 bytes too many.
func repeat(out *[outSize]byte, to, distance, length uint) {
	from, end := to-distance, to+length
	if distance >= 16 {
		for ; to < end; to, from = to+16, from+16 {
			*(*[16]byte)(out[to : to+16]) = *(*[16]byte)(out[from : from+16])
		}
		return
	}
	if distance >= 8 {
		for ; to < end; to, from = to+8, from+8 {
			*(*[8]byte)(out[to : to+8]) = *(*[8]byte)(out[from : from+8])
		}
		return
	}
	// Fill a word with the repeated bytes, and write it until the end.
	word := binary.LittleEndian.Uint64(out[from : from+8])
	word &= 1<<(distance*8) - 1
	for n := distance; n < 8; n *= 2 {
		word |= word << (n * 8 & 63)
	}
	step := 8 / distance * distance
	for ; to < end; to += step {
		binary.LittleEndian.PutUint64(out[to:to+8], word)
	}
}

// careful decodes symbols one by one, and only if all bits of a symbol are available. It continues
// until in is empty (enough is false), out is full, or the block ends.
func (z *Reader) careful() (enough bool, err error) {
	for z.to < outFull {
		for z.src.count < 56 && z.src.at < z.src.inEnd {
			z.src.bits |= uint64(z.src.in[z.src.at]) << z.src.count
			z.src.at++
			z.src.count += 8
		}
		e, n := z.lit[z.src.bits&(1<<litBits-1)], uint(0)
		if e&entryBad == entryLink {
			n = litBits
			e = z.lit[e>>entryValue+entry(z.src.bits>>litBits)&(litSub-1)]
		}
		code := n + uint(e>>entryCode&15)
		switch {
		case z.src.count < max(code, z.litNeed):
			return false, nil
		case e&entryBad == entryBad:
			return false, z.src.corrupt()
		case e&entryBad != 0:
			z.src.take(code)
			z.endBlock()
			return true, nil
		case e&entryLiteral != 0:
			z.src.take(code)
			z.out[z.to] = byte(e >> entryValue)
			z.to++
			continue
		}
		n += uint(e & entryTaken)
		if z.src.count < n {
			return false, nil
		}
		length := uint(e>>entryValue) + uint(z.src.bits&(1<<n-1)>>code)
		if enough, err := z.carefulMatch(n, length); !enough || err != nil {
			return false, err
		}
	}
	return true, nil
}

// carefulMatch decodes the distance of a match and copies the match. Its length has used the next n
// bits.
func (z *Reader) carefulMatch(n, length uint) (enough bool, err error) {
	bits, count := z.src.bits>>n, z.src.count-n
	d, m := z.dist[bits&(1<<distBits-1)], uint(0)
	if d&entryBad == entryLink {
		m = distBits
		d = z.dist[d>>entryValue+entry(bits>>distBits)&(distSub-1)]
	}
	code := m + uint(d>>entryCode&15)
	m += uint(d & entryTaken)
	switch {
	case count < code:
		return false, nil
	case d&entryBad != 0:
		return false, z.src.corrupt()
	case count < m:
		return false, nil
	}
	distance := uint(d>>entryValue) + uint(bits&(1<<m-1)>>code)
	if distance > z.to {
		return false, z.src.corrupt()
	}
	z.src.take(n)
	z.src.take(m)
	repeat(&z.out, z.to, distance, length)
	z.to += length
	return true, nil
}
