package bench

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/cache"
)

// archive has twenty static programs, as a network's plugins are, packed by gzip. The same programs
// packed by zstd are beside it.
type archive struct {
	Path    string
	Sum     string
	Size    int64 // packed
	Members []member
	Zstd    *archive `json:",omitempty"` // the same members
}

// name returns the archive's name on the web server.
func (a archive) name() string { return filepath.Base(a.Path) }

type member struct {
	Name string
	Size int64
	Sum  string
}

// plugins builds the archives once. They have the 18 plugins of containernetworking/plugins in the
// version of examples/assets, with their symbols. Two further builds of one of them stand for
// calico and calico-ipam, whose source does not come from a module. With -short the programs are
// those of other tests, which are smaller.
func plugins(t testing.TB) archive {
	t.Helper()
	source, err := filepath.Abs("../examples/assets")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		t.Fatalf("reading what pins the plugins: %v", err)
	}
	build, form := func(dir string) error { return buildPlugins(source, dir) }, "whole"
	if testing.Short() { // what other tests have built
		of := assets.CNIPlugins(t)
		build, form = func(dir string) error { return copyPlugins(of, dir) }, "short"
	}
	dir := cache.Built(t, "bench-plugins", cache.Key("2", form, runtime.Version(), runtime.GOARCH, string(lines)), func(dir string) error {
		return errors.Join(build(filepath.Join(dir, "bin")), describe(dir))
	})
	data, err := os.ReadFile(filepath.Join(dir, "archive.json"))
	var a archive
	if err = errors.Join(err, json.Unmarshal(data, &a)); err != nil {
		t.Fatalf("reading the archive's description: %v", err)
	}
	a.Path, a.Zstd.Path = filepath.Join(dir, a.Path), filepath.Join(dir, a.Zstd.Path)
	return a
}

// copyPlugins copies the plugins of other tests, without symbols, and one of them twice more.
func copyPlugins(of, bin string) error {
	all, err := filepath.Glob(filepath.Join(of, "*"))
	if err := errors.Join(err, os.Mkdir(bin, 0o755)); err != nil {
		return err
	}
	copies := map[string]string{"calico": filepath.Join(of, "dhcp"), "calico-ipam": filepath.Join(of, "dhcp")}
	for _, path := range all {
		copies[filepath.Base(path)] = path
	}
	for name, path := range copies {
		program, err := os.ReadFile(path)
		if err := errors.Join(err, os.WriteFile(filepath.Join(bin, name), program, 0o755)); err != nil {
			return fmt.Errorf("copying plugins: %w", err)
		}
	}
	return nil
}

func buildPlugins(source, bin string) error {
	const dhcp = "github.com/containernetworking/plugins/plugins/ipam/dhcp"
	for _, args := range [][]string{
		{"-o", bin + "/", "tool"},
		{"-gcflags=all=-l", "-o", filepath.Join(bin, "calico"), dhcp},
		{"-gcflags=all=-N", "-o", filepath.Join(bin, "calico-ipam"), dhcp},
	} {
		cmd := exec.Command("go", append([]string{"build", "-trimpath", "-buildvcs=false"}, args...)...)
		cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building plugins: %w\n%s", err, out)
		}
	}
	if err := os.Remove(filepath.Join(bin, "cnitool")); err != nil {
		return fmt.Errorf("leaving cnitool out: %w", err)
	}
	return nil
}

// describe packs the programs in bin, and records what there is.
func describe(dir string) error {
	bin := filepath.Join(dir, "bin")
	a, err := pack(bin, filepath.Join(dir, "cni-plugins.tgz"), func(to io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(to, 6) })
	if err != nil {
		return fmt.Errorf("packing plugins: %w", err)
	}
	z, err := pack(bin, filepath.Join(dir, "cni-plugins.tar.zst"), func(to io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(to) })
	if err != nil {
		return fmt.Errorf("packing plugins: %w", err)
	}
	a.Zstd = &z
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "archive.json"), data, 0o644), os.RemoveAll(bin))
}

// pack packs the programs of a directory.
func pack(bin, path string, packer func(io.Writer) (io.WriteCloser, error)) (archive, error) {
	a := archive{Path: filepath.Base(path)}
	file, err := os.Create(path)
	if err != nil {
		return a, err
	}
	defer file.Close()
	whole := sha256.New()
	zip, err := packer(io.MultiWriter(file, whole))
	if err != nil {
		return a, err
	}
	tarball := tar.NewWriter(zip)
	names, err := filepath.Glob(filepath.Join(bin, "*"))
	if err != nil {
		return a, err
	}
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return a, err
		}
		header := tar.Header{Name: "./" + filepath.Base(name), Mode: 0o755, Size: int64(len(content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := tarball.WriteHeader(&header); err != nil {
			return a, err
		}
		if _, err := tarball.Write(content); err != nil {
			return a, err
		}
		sum := sha256.Sum256(content)
		a.Members = append(a.Members, member{filepath.Base(name), header.Size, hex.EncodeToString(sum[:])})
	}
	if err := errors.Join(tarball.Close(), zip.Close()); err != nil {
		return a, err
	}
	info, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return a, err
	}
	a.Size, a.Sum = info.Size(), hex.EncodeToString(whole.Sum(nil))
	return a, nil
}
