package inflate

import (
	"errors"
	"fmt"
	"io"
)

// Why a stream is refused. What ends too early is an [io.ErrUnexpectedEOF].
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

// source gives the bits of a stream.
type source struct {
	from    io.Reader
	fromErr error // what from ended with; it counts when all before it is used
	taken   int64 // bytes that from gave

	in        [inSize]byte
	at, inEnd uint // what is not used of in
	// The next bits of the stream, the first one lowest: count of them, and zeros above.
	bits  uint64
	count uint
}

// more fills in, all of which was used.
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

// need sees to it that there are n bits, at most 56.
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

// take is the next n bits, which there are.
func (s *source) take(n uint) uint {
	v := s.bits & (1<<n - 1)
	s.bits >>= n
	s.count -= n
	return uint(v)
}

// number reads n bits, at most 56. The end of the stream is an unexpected one.
func (s *source) number(n uint) (uint, error) {
	if err := s.need(n); err != nil {
		return 0, noEOF(err)
	}
	return s.take(n), nil
}

// corrupt says that the stream is, and where.
func (s *source) corrupt() error {
	return fmt.Errorf("%w before byte %d", errCorrupt, s.taken-int64(s.inEnd-s.at)-int64(s.count/8))
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
