package inflate

import (
	"bytes"
	stdgzip "compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"github.com/netwright/netwright/test/assets"
)

// verdict is what a reader returned for a stream: its bytes, and why it ended. Go's reader and this
// package's have different texts, so the reason is one of four.
type verdict struct {
	out []byte
	err string
}

func read(open func(io.Reader) (io.Reader, error), from io.Reader) verdict {
	r, err := open(from)
	var v verdict
	if err == nil {
		v.out, err = io.ReadAll(r)
	}
	switch text := fmt.Sprint(err); {
	case err == nil || errors.Is(err, io.EOF):
		v.err = "whole"
	case errors.Is(err, io.ErrUnexpectedEOF):
		v.err = "cut"
	case strings.Contains(text, "corrupt"):
		v.err = "corrupt"
	default:
		v.err = text
	}
	return v
}

func own(r io.Reader) (io.Reader, error) { return NewReader(r) }
func std(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) }

// same fails if this package and compress/gzip differ on a stream.
func same(t *testing.T, packed []byte, what string) verdict {
	t.Helper()
	want, got := read(std, bytes.NewReader(packed)), read(own, bytes.NewReader(packed))
	if got.err != want.err || !bytes.Equal(got.out, want.out) {
		t.Fatalf("%s: %d bytes, %s; compress/gzip: %d bytes, %s\n%x",
			what, len(got.out), got.err, len(want.out), want.err, packed[:min(len(packed), 200)])
	}
	return got
}

// inputs returns texts of many kinds: with repeats at each distance, without repeats, program code,
// and an empty one.
func inputs(tb testing.TB) map[string][]byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	skewed := make([]byte, 300_000)
	for i := range skewed {
		skewed[i] = byte(random.ExpFloat64() * 7)
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string][]byte{
		"nothing": nil, "one byte": {7}, "noise": noise, "skewed": skewed,
		"zeros": make([]byte, 400_000), "program": program[:1<<20],
		"far":    bytes.Repeat(noise[:32768], 5),
		"beyond": bytes.Repeat(noise[:32769], 5),
		"text":   []byte(strings.Repeat("what the kernel tells, what the ledger says; ", 3000)),
	}
	for distance := 1; distance < 40; distance++ {
		all[fmt.Sprint("period ", distance)] = bytes.Repeat(noise[:distance], 2000/distance)
	}
	var mixed []byte
	for len(mixed) < 500_000 {
		from, n := random.IntN(len(noise)-300), random.IntN(300)
		mixed = append(mixed, noise[from:from+n]...)
		if back := 1 + random.IntN(40_000); back < len(mixed) {
			for range random.IntN(400) {
				mixed = append(mixed, mixed[len(mixed)-back])
			}
		}
	}
	all["mixed"] = mixed
	return all
}

// packers returns the writers of Go and of the library at each of their levels.
func packers() map[string]func(io.Writer) io.WriteCloser {
	all := map[string]func(io.Writer) io.WriteCloser{}
	for level := stdgzip.HuffmanOnly; level <= stdgzip.BestCompression; level++ {
		all[fmt.Sprint("std ", level)] = func(w io.Writer) io.WriteCloser {
			z, _ := stdgzip.NewWriterLevel(w, level)
			return z
		}
	}
	for level := gzip.StatelessCompression; level <= gzip.BestCompression; level++ {
		all[fmt.Sprint("klauspost ", level)] = func(w io.Writer) io.WriteCloser {
			z, _ := gzip.NewWriterLevel(w, level)
			return z
		}
	}
	return all
}

func packed(tb testing.TB, open func(io.Writer) io.WriteCloser, content []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := open(&out)
	_, err := z.Write(content)
	if err = errors.Join(err, z.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// What any writer packed is unpacked unchanged, also in small pieces, and if the source returns its
// end together with data.
func TestWhatWasPackedComesBack(t *testing.T) {
	for name, content := range inputs(t) {
		for how, open := range packers() {
			stream := packed(t, open, content)
			ways := map[string]io.Reader{
				"at once":         bytes.NewReader(stream),
				"halves":          iotest.HalfReader(bytes.NewReader(stream)),
				"data with error": iotest.DataErrReader(bytes.NewReader(stream)),
			}
			if len(stream) < 50_000 {
				ways["byte by byte"] = iotest.OneByteReader(bytes.NewReader(stream))
			}
			for way, from := range ways {
				if got := read(own, from); got.err != "whole" || !bytes.Equal(got.out, content) {
					t.Errorf("%s, %s, %s: %d of %d bytes, %s", name, how, way, len(got.out), len(content), got.err)
				}
			}
		}
	}
}

func TestPluginsComeBack(t *testing.T) {
	path, _ := assets.CNIArchive(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := same(t, data, path); got.err != "whole" {
		t.Errorf("the end of the data: %s, want whole", got.err)
	}
}

// A stream that is cut at any place gives the same bytes as compress/gzip, and the same error.
func TestCutStreams(t *testing.T) {
	content := inputs(t)["mixed"][:3000]
	for _, how := range []string{"std -2", "std 0", "std 1", "std 9", "klauspost 7"} {
		stream := packed(t, packers()[how], content)
		for n := range stream {
			if got := same(t, stream[:n], fmt.Sprint(how, " cut at ", n)); n > 0 && got.err != "cut" {
				t.Errorf("%s cut at %d: %s", how, n, got.err)
			}
		}
	}
	stream := packed(t, packers()["std 6"], inputs(t)["program"])
	for n := 1; n < len(stream); n += len(stream) / 40 {
		same(t, stream[:n], fmt.Sprint("cut at ", n))
	}
}

// Random damage is refused after the same bytes as in compress/gzip.
func TestDamagedStreams(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 400
	}
	random := rand.New(rand.NewPCG(3, 4))
	all, seen := inputs(t), map[string]int{}
	for _, name := range []string{"mixed", "skewed", "text", "program", "one byte", "period 3"} {
		for _, how := range []string{"std -2", "std 0", "std 1", "std 6", "klauspost 9"} {
			stream := packed(t, packers()[how], all[name][:min(len(all[name]), 20_000)])
			for range rounds / 30 {
				damaged := bytes.Clone(stream)
				for range 1 + random.IntN(3) {
					at := random.IntN(len(damaged))
					if random.IntN(2) == 0 {
						at %= 200
					}
					damaged[at%len(damaged)] ^= 1 << random.IntN(8)
				}
				seen[same(t, damaged, name+", "+how).err]++
			}
		}
	}
	if len(seen) < 4 {
		t.Error("damage that shows nothing:", seen)
	}
}

// Headers are judged as compress/gzip judges them.
func TestHeaders(t *testing.T) {
	body := packed(t, packers()["std 6"], []byte("content"))[10:]
	head := func(flags byte, rest ...byte) []byte {
		return append([]byte{0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 255}, rest...)
	}
	summed := func(wrong uint16, head []byte) []byte {
		return binary.LittleEndian.AppendUint16(head, uint16(crc32.ChecksumIEEE(head))+wrong)
	}
	name := append(bytes.Repeat([]byte{'n'}, 511), 0)
	for what, c := range map[string]struct {
		head []byte
		want string
	}{
		"plain":             {head(0), "whole"},
		"reserved flags":    {head(0xe0), "whole"},
		"text":              {head(1), "whole"},
		"name":              {head(8, name...), "whole"},
		"name too long":     {head(8, append([]byte{'n'}, name...)...), "gzip: invalid header"},
		"comment":           {head(16, 0xe9, 0), "whole"},
		"name and comment":  {head(24, 'a', 0, 'b', 0), "whole"},
		"extra":             {head(4, 3, 0, 1, 2, 3), "whole"},
		"all, with its sum": {summed(0, head(30, 1, 0, 9, 'a', 0, 'b', 0)), "whole"},
		"all, wrong sum":    {summed(1, head(30, 1, 0, 9, 'a', 0, 'b', 0)), "gzip: invalid header"},
		"other method":      {[]byte{0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0}, "gzip: invalid header"},
		"other magic":       {[]byte{0x1f, 0x8c, 8, 0, 0, 0, 0, 0, 0, 0}, "gzip: invalid header"},
	} {
		stream := append(bytes.Clone(c.head), body...)
		if got := same(t, stream, what); got.err != c.want {
			t.Errorf("%s: %s, not %s", what, got.err, c.want)
		}
		for n := range c.head {
			same(t, stream[:n], fmt.Sprint(what, " cut at ", n))
		}
	}
}

// Several streams one after another are one stream. Something else after a stream is refused, and
// so is a wrong length or checksum.
func TestStreamsInARow(t *testing.T) {
	one := packed(t, packers()["std 6"], bytes.Repeat([]byte("one "), 50_000))
	two := packed(t, packers()["klauspost 1"], []byte("two"))
	wrong := bytes.Clone(one)
	wrong[len(wrong)-5]++
	size := bytes.Clone(one)
	size[len(size)-1]++
	var back bitWriter // one literal, and a match that starts two bytes before it
	back.bits(3, 3)
	back.code(0x30+'x', 8)
	back.code(1, 7)
	back.code(1, 5)
	for what, c := range map[string]struct {
		stream []byte
		want   string
	}{
		"two":                {bytes.Join([][]byte{one, two, one}, nil), "whole"},
		"zeros after it":     {append(bytes.Clone(one), make([]byte, 512)...), "gzip: invalid header"},
		"one zero after it":  {append(bytes.Clone(one), 0), "cut"},
		"wrong sum":          {append(wrong, two...), "gzip: invalid checksum"},
		"wrong length":       {append(size, two...), "gzip: invalid checksum"},
		"nothing at all":     {nil, "whole"},
		"back before itself": {append(bytes.Clone(two), wrapped(back.out...)...), "corrupt"},
	} {
		if got := same(t, c.stream, what); got.err != c.want {
			t.Errorf("%s: %s, not %s", what, got.err, c.want)
		}
	}
}

// wrapped returns a gzip stream of these bytes of DEFLATE, with a wrong end.
func wrapped(deflate ...byte) []byte {
	return append(append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, deflate...), make([]byte, 8)...)
}

// An error of the source is returned unchanged, after all bytes before it.
func TestErrorOfTheSource(t *testing.T) {
	stream := packed(t, packers()["std 6"], inputs(t)["program"])
	lost := errors.New("connection lost")
	for _, n := range []int{0, 5, 10, 11, 1000, 70_000, len(stream) - 3, len(stream)} {
		from := func() io.Reader { return io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(lost)) }
		want, got := read(std, from()), read(own, from())
		if want.err != got.err || got.err != lost.Error() || !bytes.Equal(want.out, got.out) {
			t.Errorf("after %d bytes: %d bytes and %s, not %d and %s", n, len(got.out), got.err, len(want.out), want.err)
		}
	}
	if _, err := NewReader(silent{}); !errors.Is(err, io.ErrNoProgress) {
		t.Error("a source that gives nothing:", err)
	}
}

// silent returns neither bytes nor an error.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

// The reader returns what was written before it waits for more of the source.
func TestGivesOutBeforeItWaits(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	go func() {
		z := stdgzip.NewWriter(w)
		_, _ = z.Write([]byte("first"))
		_ = z.Flush() // nothing more follows
	}()
	z, err := NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(z, got); err != nil || string(got) != "first" {
		t.Errorf("the bytes before the pause: %q, %v; want \"first\"", got, err)
	}
}

// maxMemory is the most bytes that a reader may allocate, for any stream.
const maxMemory = 300_000

// taken returns the number of bytes that it takes to read a stream and to report its fault.
func taken(stream []byte) uint64 {
	from, buf := bytes.NewReader(stream), make([]byte, 512)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	z, err := NewReader(from)
	for n := 0; err == nil && n < 64<<20; {
		var k int
		k, err = z.Read(buf)
		n += k
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMemoryIsBounded(t *testing.T) {
	many := bytes.Repeat(packed(t, packers()["std 9"], []byte("many")), 1000)
	for what, stream := range map[string][]byte{
		"bomb":         packed(t, packers()["std 9"], make([]byte, 64<<20)),
		"extra":        append([]byte{0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0, 255, 255}, make([]byte, 70_000)...),
		"many streams": many,
		"one cut":      many[:len(many)-1],
	} {
		if n := taken(stream); n > maxMemory {
			t.Errorf("%s: took %d bytes", what, n)
		}
	}
}
