// Package inflate decompresses gzip (RFC 1952, RFC 1951). It does what compress/gzip does, but
// faster.
//
// It accepts and refuses the same streams as compress/gzip, and returns the same bytes before it
// refuses one. A Reader needs less than 300 kB of memory, whatever the stream contains.
package inflate

import (
	"hash/crc32"
	"io"
)

const (
	window = 32 << 10 // maximum distance of a match
	// outSize is the window with the output behind it that Read has not returned yet.
	outSize = window + 128<<10
	// outSlack is more than one round of the fast loop writes: three literals, a match of 258
	// bytes, and the bytes that copying by words writes past its end.
	outSlack = 320
	outFull  = outSize - outSlack
)

// Reader returns the decompressed content of a gzip stream. It reads several streams in a row as
// one. Only one goroutine may use it.
type Reader struct {
	src source

	out         [outSize]byte
	pending, to uint // the output that Read has not returned is out[pending:to]

	part  part
	final bool // the block is the last of its stream
	left  int  // bytes left of a stored block
	err   error

	crc, size uint32 // of the stream's output so far
	summed    uint   // end in out of what crc and size include
	one       [1]byte

	lit     litTable
	dist    distTable
	isFixed bool // lit and dist are the tables of the fixed code
	litNeed uint // the decoder needs this many bits to read a symbol: the length of the end-of-block code
}

// part is the position of a Reader in a stream.
type part int

const (
	atBlock part = iota
	inStored
	inCoded
	atTrailer
)

// NewReader returns a Reader. It reads the header of the first stream. It returns io.EOF for an
// empty input.
func NewReader(from io.Reader) (*Reader, error) {
	z := &Reader{src: source{from: from}}
	if err := z.header(); err != nil {
		return nil, err
	}
	return z, nil
}

// Read implements [io.Reader]. The bytes may be wrong until the end of their stream was read.
func (z *Reader) Read(p []byte) (int, error) {
	for z.pending == z.to {
		if z.err != nil {
			return 0, z.err
		}
		if len(p) == 0 {
			return 0, nil
		}
		z.err = z.step()
	}
	n := copy(p, z.out[z.pending:z.to])
	z.pending += uint(n)
	return n, nil
}

// step decodes until there is output. Read has returned all earlier output.
func (z *Reader) step() error {
	if z.part == atTrailer {
		return z.next()
	}
	if z.to >= outFull {
		copy(z.out[:window], z.out[z.to-window:z.to])
		z.pending, z.to, z.summed = window, window, window
	}
	err := z.decode()
	written := z.out[z.summed:z.to]
	z.crc = crc32.Update(z.crc, crc32.IEEETable, written)
	z.size += uint32(len(written))
	z.summed = z.to
	return err
}

// decode decodes until out is full, the stream ends, or it would have to wait for input while there
// is output to return.
func (z *Reader) decode() error {
	for z.to < outFull && z.part != atTrailer {
		var err error
		switch z.part {
		case inCoded:
			err = z.coded()
		case inStored:
			err = z.stored()
		default:
			err = z.block()
		}
		if err != nil || z.src.at == z.src.inEnd && z.to > z.pending {
			return err
		}
	}
	return nil
}

// coded decodes symbols of a block until the block ends, out is full, or in is empty.
func (z *Reader) coded() error {
	for z.part == inCoded && z.to < outFull {
		if err := z.fast(); err != nil {
			return err
		}
		enough, err := z.careful()
		if err != nil {
			return err
		}
		if enough {
			continue
		}
		if z.to > z.pending {
			return nil
		}
		if err := z.src.more(); err != nil {
			return noEOF(err)
		}
	}
	return nil
}
