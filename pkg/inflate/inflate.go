// Package inflate reads what gzip packed (RFC 1952, RFC 1951), as compress/gzip does and faster.
//
// It takes and refuses the same streams as compress/gzip, and gives the same bytes before it
// refuses. A Reader takes less than 300 kB of memory, whatever the stream says.
package inflate

import (
	"hash/crc32"
	"io"
)

const (
	window = 32 << 10 // how far back a match may reach
	// outSize is the window with what is written after it before it is given out.
	outSize = window + 128<<10
	// outSlack is more than one round of the fast loop writes: three literals, a match of 258
	// bytes, and what a copy by words writes past its end.
	outSlack = 320
	outFull  = outSize - outSlack
)

// Reader gives out what a gzip stream packs. Streams that follow each other are one. It is for one
// goroutine.
type Reader struct {
	src source

	out         [outSize]byte
	pending, to uint // what is written in out, and not given out

	part  part
	final bool // the block is the last of its stream
	left  int  // bytes to come of a stored block
	err   error

	crc, size uint32 // of what the stream gave until now
	summed    uint   // how far into out
	one       [1]byte

	lit     litTable
	dist    distTable
	isFixed bool // they are those of the fixed code
	litNeed uint // bits without which no symbol is looked for: those of the end of the block
}

// part is where in a stream a Reader is.
type part int

const (
	atBlock part = iota
	inStored
	inCoded
	atTrailer
)

// NewReader begins to read a gzip stream: it reads its header. An empty stream is an io.EOF.
func NewReader(from io.Reader) (*Reader, error) {
	z := &Reader{src: source{from: from}}
	if err := z.header(); err != nil {
		return nil, err
	}
	return z, nil
}

// Read implements [io.Reader]. Bytes may be wrong until the end of their stream was read.
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

// step goes on until there is something to give out. All before was given out.
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

// decode goes on until out is full, the stream at its end, or a wait would hold back what is
// written.
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

// coded decodes symbols of a block until it is at its end, or out is full, or in is empty.
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
