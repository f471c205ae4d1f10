package tasks

import (
	"fmt"
	"os"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// BenchmarkNoop plans 10,000 small files that are right, below "/" and below an image's root, on
// one goroutine. One operation plans all of them.
func BenchmarkNoop(b *testing.B) {
	const files = 10_000
	root := b.TempDir()
	var all []File
	content := make([]byte, 2000)
	for i := range files {
		dir := fmt.Sprintf("/etc/conf.d/%02d", i%50)
		if i < 50 {
			if err := os.MkdirAll(root+dir, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		content[0] = byte(i)
		f := File{Path: fmt.Sprintf("%s/%05d.conf", dir, i), Content: append([]byte(nil), content...), Mode: 0o644, Owner: fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())}
		if err := os.WriteFile(root+f.Path, f.Content, 0o644); err != nil {
			b.Fatal(err)
		}
		all = append(all, f)
	}
	for name, opt := range map[string]host.Options{"image": {Root: root}, "plain": {Root: "/"}} {
		b.Run(name, func(b *testing.B) {
			h, err := host.OpenView(b.Context(), opt)
			if err != nil {
				b.Fatal(err)
			}
			defer h.Close()
			todo := append([]File(nil), all...)
			for i := range todo {
				if name == "plain" {
					todo[i].Path = root + todo[i].Path
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range todo {
					if c, err := f.Plan(b.Context(), h.View()); err != nil || c != nil {
						b.Fatal(lines(c), err)
					}
				}
			}
		})
	}
}
