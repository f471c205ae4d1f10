package assets_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/netwright/netwright/test/assets"
)

var plugins = strings.Fields("bandwidth bridge dhcp dummy firewall host-device host-local ipvlan loopback macvlan portmap ptp sbr static tap tuning vlan vrf")

func TestCNIPlugins(t *testing.T) {
	dir := assets.CNIPlugins(t)
	for _, name := range plugins {
		cmd := exec.Command(filepath.Join(dir, name))
		cmd.Env = []string{"CNI_COMMAND=VERSION"}
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"1.1.0"`) {
			t.Errorf("%s answers %q, %v", name, out, err)
		}
	}
}

// flannel's plugin calls bridge, and answers for the version in flannel's own conf (0.3.1). The
// daemon starts without a library of the machine.
func TestFlannel(t *testing.T) {
	cmd := exec.Command(assets.Flannel(t))
	cmd.Env = []string{"CNI_COMMAND=VERSION"}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"0.3.1"`) {
		t.Errorf("the plugin answers %q, %v", out, err)
	}
	cmd = exec.Command(assets.Flanneld(t), "--version")
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: filepath.Dir(assets.Flanneld(t))}
	cmd.Path = "/flannel"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the daemon without libraries: %v\n%s", err, out)
	}
}

func TestCNIArchive(t *testing.T) {
	path, sum := assets.CNIArchive(t)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	hash := sha256.New()
	unzip, err := gzip.NewReader(io.TeeReader(file, hash))
	if err != nil {
		t.Fatal(err)
	}
	archive, names := tar.NewReader(unzip), []string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
		if header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 0 || header.Mode != 0o755 {
			t.Errorf("%s tells of the machine that built it: %+v", header.Name, header)
		}
	}
	if _, err := io.Copy(hash, file); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		t.Errorf("the archive's sha256 is %s, beside it is written %s", got, sum)
	}
	want := []string{"./"}
	for _, name := range plugins {
		want = append(want, "./"+name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("the archive holds %v, want %v", names, want)
	}
}
