package hostfs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
)

// binaries returns some hundred megabytes of programs of this Go installation.
func binaries(b *testing.B) (all []entry, bytes int64) {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	must(b, err)
	root := strings.TrimSpace(string(out))
	files, _ := filepath.Glob(filepath.Join(root, "pkg/tool/*/*"))
	for _, file := range append(files, filepath.Join(root, "bin/go"), filepath.Join(root, "bin/gofmt"), os.Args[0]) {
		content, err := os.ReadFile(file)
		must(b, err)
		all = append(all, entry{name: filepath.Base(file), content: string(content)})
		bytes += int64(len(content))
	}
	return all, bytes
}

// BenchmarkUnpack installs programs from an archive in memory, durably. Inflate is only the
// decompression.
func BenchmarkUnpack(b *testing.B) {
	all, size := binaries(b)
	plain := tarOf(b, all...)
	var members []string
	for _, e := range all {
		members = append(members, e.name)
	}
	for _, how := range []string{"gzip", "zstd"} {
		packed := pack(b, how, plain)
		b.Run(how, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				h, _ := image(b)
				_, err := unpack(h, bytes.NewReader(packed), unpacking(packed, members...))
				must(b, err)
			}
		})
		b.Run(how+"-inspect", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				u := unpacking(packed, members...)
				must(b, archive.Inspect(context.Background(), bytes.NewReader(packed), archive.Wanted{Name: u.Name, Sum: u.Sum, Members: u.Members}))
			}
		})
	}
}

// BenchmarkSum hashes 64 MiB, as --verify does.
func BenchmarkSum(b *testing.B) {
	h, root := image(b)
	must(b, os.WriteFile(root+"/f", make([]byte, 64<<20), 0o644))
	b.SetBytes(64 << 20)
	for b.Loop() {
		_, err := h.Sum("/f")
		must(b, err)
	}
}

// BenchmarkCommit writes 256 small files, each durable by itself, from this many goroutines.
func BenchmarkCommit(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			h, _ := image(b)
			for b.Loop() {
				todo := make(chan int)
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for i := range todo {
							if err := h.WriteFile(context.Background(), fmt.Sprintf("/d/%d", i), make([]byte, 2000), self(0o644)); err != nil {
								b.Error(err)
							}
						}
					})
				}
				for i := range 256 {
					todo <- i
				}
				close(todo)
				wg.Wait()
			}
		})
	}
	b.Run("one batch", func(b *testing.B) {
		h, _ := image(b)
		for b.Loop() {
			batch := h.Batch()
			for i := range 256 {
				must(b, batch.Put(fmt.Sprintf("/d/%d", i), make([]byte, 2000), self(0o644)))
			}
			must(b, batch.Commit(context.Background()))
		}
	})
	b.Run("limit: write and one syncfs", func(b *testing.B) {
		_, root := image(b)
		must(b, os.Mkdir(root+"/d", 0o755))
		dir, err := os.Open(root)
		must(b, err)
		defer dir.Close()
		for b.Loop() {
			for i := range 256 {
				name := fmt.Sprintf("%s/d/%d", root, i)
				must(b, os.WriteFile(name+".tmp", make([]byte, 2000), 0o644))
			}
			must(b, unix.Syncfs(int(dir.Fd())))
			for i := range 256 {
				name := fmt.Sprintf("%s/d/%d", root, i)
				must(b, os.Rename(name+".tmp", name))
			}
			must(b, unix.Syncfs(int(dir.Fd())))
		}
	})
}
