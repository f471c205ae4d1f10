package inflate

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// FuzzInflate compares the reader with compress/gzip on any stream. Both return the same bytes and
// the same refusal, also if the source returns single bytes. The reader takes no more memory than
// its limit.
func FuzzInflate(f *testing.F) {
	content := inputs(f)["mixed"]
	for how, open := range packers() {
		stream := packed(f, open, content[:2000+len(how)])
		f.Add(stream[10:len(stream)-8], false)
		f.Add(stream, true)
	}
	f.Add([]byte{5, 0xc0, 0x81}, false)
	f.Fuzz(func(t *testing.T, stream []byte, whole bool) {
		if !whole { // the fuzzer need not guess a header
			stream = wrapped(stream...)
		}
		limit := func(open func(io.Reader) (io.Reader, error)) func(io.Reader) (io.Reader, error) {
			return func(from io.Reader) (io.Reader, error) {
				r, err := open(from)
				return io.LimitReader(r, 8<<20), err
			}
		}
		want, got := read(limit(std), bytes.NewReader(stream)), read(limit(own), bytes.NewReader(stream))
		if got.err != want.err || !bytes.Equal(got.out, want.out) {
			t.Fatalf("%d bytes, %s; compress/gzip: %d bytes, %s", len(got.out), got.err, len(want.out), want.err)
		}
		got = read(limit(own), iotest.OneByteReader(bytes.NewReader(stream)))
		if got.err != want.err || !bytes.Equal(got.out, want.out) {
			t.Fatalf("byte by byte: %d bytes, %s; compress/gzip: %d bytes, %s", len(got.out), got.err, len(want.out), want.err)
		}
		if n := taken(stream); n > maxMemory {
			t.Fatalf("took %d bytes of memory", n)
		}
	})
}
