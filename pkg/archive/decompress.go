package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/netwright/netwright/pkg/inflate"
)

// sniff is how many bytes are needed to recognise the format: a tar header.
const sniff = 512

// decompress recognises the format of an archive by its first bytes, not by its name, and starts to
// decompress it in a goroutine of its own.
func decompress(p *packed, want Wanted, to MemberWriter) (*readahead, error) {
	r := bufio.NewReaderSize(p, piece)
	head, err := r.Peek(sniff)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var plain io.Reader
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		plain, err = inflate.NewReader(r)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}),
		len(head) > 3 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}):
		plain, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")) && to == nil:
		_, err := io.Copy(io.Discard, r)
		return nil, err
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		plain, err = inflateXZ(r, p, want, to)
	case len(head) == sniff && string(head[257:262]) == "ustar":
		plain = r
	default:
		return nil, refuse("is no tar archive, plain or packed with gzip, zstd or xz: it begins with %q: look at what "+
			"the URL serves", beginning(head))
	}
	if err != nil {
		return nil, fmt.Errorf("begin to decompress: %w", err)
	}
	return startReadahead(&inflated{r: plain, packed: p}), nil
}

// maxWindow is the maximum window of a zstd archive, the one of `zstd --long=27`.
const maxWindow = 128 << 20

// inflateXZ stores an xz archive in a file without a name, and decompresses it only if its hash is
// right. An xz decoder needs as much memory as the archive says, up to 4 GiB.
func inflateXZ(r io.Reader, p *packed, want Wanted, to MemberWriter) (io.Reader, error) {
	file, err := to.Scratch()
	if err != nil {
		return nil, &writerError{err}
	}
	if _, err := io.Copy(markingWriter{file}, r); err != nil {
		return nil, err
	}
	if p.sum() != want.Sum {
		return nil, errors.New("not inflated, since its hash is wrong")
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, &writerError{err}
	}
	return xz.NewReader(bufio.NewReaderSize(file, piece))
}

// beginning returns the first bytes of a file that is no archive. Often it is a page with the
// reason.
func beginning(head []byte) string {
	line, _, _ := strings.Cut(string(head[:min(len(head), 60)]), "\n")
	return line
}

// inflated returns an error when a decompressed archive becomes too big.
type inflated struct {
	r      io.Reader
	packed *packed
	n      int64
}

func (b *inflated) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	in := b.packed.taken
	if b.n > maxUnpacked {
		return n, refuse("unpacks to more than %d MiB", maxUnpacked>>20)
	}
	if b.n > freeUnpacked && b.n > maxRatio*in {
		return n, refuse("unpacks to more than %d times its size, more than any archive of programs: look at "+
			"what the URL serves", maxRatio)
	}
	return n, err
}

// markingWriter wraps the errors of a write as a writerError.
type markingWriter struct{ io.Writer }

func (w markingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		return n, &writerError{err}
	}
	return n, nil
}
