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

// decompressors has what is measured: this package, the library that could replace it, and Go's
// own.
var decompressors = []struct {
	name string
	open func(io.Reader) (io.Reader, error)
}{
	{"own", func(r io.Reader) (io.Reader, error) { return NewReader(r) }},
	{"klauspost", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"std", func(r io.Reader) (io.Reader, error) { return stdgzip.NewReader(r) }},
}

// BenchmarkPlugins unpacks the archive of the CNI plugins with each decompressor in turn, so that
// other work of the machine slows all of them. The fastest round of each counts. x-klauspost says
// how many times as fast as the library this package is: below 1.5 the library must replace it
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
