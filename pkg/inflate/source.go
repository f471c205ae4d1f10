package inflate

import (
	"errors"
	"fmt"
	"io"
)

// The errors of a refused stream. A stream that ends too early is an [io.ErrUnexpectedEOF].
var (
	errHeader   = errors.New("gzip: invalid header")
	errChecksum = errors.New("gzip: invalid checksum")
	errCorrupt  = errors.New("gzip: corrupt data")
)

const (
	inSize = 64 << 10
	// inSlack is more than one round of the fast loop reads: two words that overlap.
	inSlack = 32
)

// source returns the bits of a stream.
type source struct {
	from    io.Reader
	fromErr error // error of the last Read of from; it counts after all bytes before it are used
	taken   int64 // bytes that were read from from

	in        [inSize]byte
	at, inEnd uint // in[at:inEnd] is not used yet
	// bits has the next count bits of the stream, the first one lowest, and zeros above.
	bits  uint64
	count uint
}

// more fills in again. All of it must have been used.
func (s *source) more() error {
	for range 100 {
		if s.fromErr != nil {
			return s.fromErr
		}
		n, err := s.from.Read(s.in[:])
		if n < 0 || n > inSize {
			return fmt.Errorf("gzip: the source says that it read %d bytes of %d", n, inSize)
		}
		s.at, s.inEnd, s.fromErr = 0, uint(n), err
		s.taken += int64(n)
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}

// need reads until bits has n bits, at most 56.
func (s *source) need(n uint) error {
	for s.count < n {
		if s.at == s.inEnd {
			if err := s.more(); err != nil {
				return err
			}
		}
		s.bits |= uint64(s.in[s.at]) << s.count
		s.at++
		s.count += 8
	}
	return nil
}

// take returns the next n bits, which must be in bits.
func (s *source) take(n uint) uint {
	v := s.bits & (1<<n - 1)
	s.bits >>= n
	s.count -= n
	return uint(v)
}

// number reads n bits, at most 56. The end of the stream is io.ErrUnexpectedEOF.
func (s *source) number(n uint) (uint, error) {
	if err := s.need(n); err != nil {
		return 0, noEOF(err)
	}
	return s.take(n), nil
}

// corrupt returns the error for corrupt data, with the position.
func (s *source) corrupt() error {
	return fmt.Errorf("%w before byte %d", errCorrupt, s.taken-int64(s.inEnd-s.at)-int64(s.count/8))
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
