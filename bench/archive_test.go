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

	"github.com/netwright/netwright/test/cache"
)

// archive is twenty static binaries, as a network's plugins are: 134 MB in 72 MB of gzip.
type archive struct {
	Path    string
	Sum     string
	Members []member
}

type member struct {
	Name string
	Size int64
	Sum  string
}

const archiveName = "cni-plugins.tgz"

// plugins builds the archive once: the 18 plugins of containernetworking/plugins at the version
// that examples/assets pins, with their symbols, and two of another build of one of them that stand
// for calico and calico-ipam, whose own source does not come from a module.
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
	dir := cache.Built(t, "bench-plugins", cache.Key("1", runtime.Version(), runtime.GOARCH, string(lines)), func(dir string) error {
		return buildPlugins(source, dir)
	})
	data, err := os.ReadFile(filepath.Join(dir, "archive.json"))
	var a archive
	if err = errors.Join(err, json.Unmarshal(data, &a)); err != nil {
		t.Fatalf("reading the archive's description: %v", err)
	}
	a.Path = filepath.Join(dir, archiveName)
	return a
}

func buildPlugins(source, dir string) error {
	bin := filepath.Join(dir, "bin")
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
	a, err := pack(bin, filepath.Join(dir, archiveName))
	if err != nil {
		return fmt.Errorf("packing plugins: %w", err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "archive.json"), data, 0o644), os.RemoveAll(bin))
}

func pack(bin, path string) (archive, error) {
	var a archive
	file, err := os.Create(path)
	if err != nil {
		return a, err
	}
	defer file.Close()
	whole := sha256.New()
	zip, err := gzip.NewWriterLevel(io.MultiWriter(file, whole), 6)
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
	if err := errors.Join(tarball.Close(), zip.Close(), file.Close()); err != nil {
		return a, err
	}
	a.Sum = hex.EncodeToString(whole.Sum(nil))
	return a, nil
}
