package inflate

import (
	"bytes"
	stdgzip "compress/gzip"
	"io"
	"os"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/netwright/netwright/test/assets"
)

// decompressors are who is measured: this package, the library that stands in for it, Go's own.
var decompressors = []struct {
	name string
	open func(io.Reader) (io.Reader, error)
}{
	{"own", func(r io.Reader) (io.Reader, error) { return NewReader(r) }},
	{"klauspost", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"std", func(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) }},
}

// BenchmarkPlugins unpacks the archive of the CNI plugins with each, in turns, so that whatever
// else the machine does happens to all; of each the quickest round counts. x-klauspost is how many
// times as fast this package is as the library: below 1.5 the library is to be taken
// (docs/adr/0028).
func BenchmarkPlugins(b *testing.B) {
	path, _ := assets.CNIArchive(b)
	packed, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	least := make([]time.Duration, len(decompressors))
	buf := make([]byte, 128<<10)
	var bytesOut int64
	for b.Loop() {
		for i, d := range decompressors {
			start := time.Now()
			r, err := d.open(bytes.NewReader(packed))
			if err != nil {
				b.Fatal(err)
			}
			bytesOut, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
			if err != nil {
				b.Fatal(d.name, err)
			}
			if took := time.Since(start); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	for i, d := range decompressors {
		b.ReportMetric(float64(bytesOut)/1e6/least[i].Seconds(), d.name+"-MB/s")
	}
	b.ReportMetric(least[1].Seconds()/least[0].Seconds(), "x-klauspost")
	b.ReportMetric(0, "ns/op")
}
