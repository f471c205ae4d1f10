// Command assets builds the CNI plugins from the module proxy, at the version that go.mod pins. It
// packs them into an archive like that of a release of containernetworking/plugins, for machines
// that cannot reach the release's site. The same version of Go gives the same bytes.
//
//	go run -C examples/assets . -o ../../.cache/assets
//
// creates in that directory
//
//	cni-plugins-linux-amd64-v1.9.1.tgz          all 18 plugins, as ./bridge, ./host-local, …
//	cni-plugins-linux-amd64-v1.9.1.tgz.sha256   its hash, as sha256sum writes it
//	linux-amd64/                                the plugins and cnitool, unpacked
//
// and prints the archive's path and hash. It takes 20 s with an empty build cache, and half a
// second when nothing changed.
package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

const module = "github.com/containernetworking/plugins"

func main() {
	out := flag.String("o", ".", "directory to write to")
	arch := flag.String("arch", runtime.GOARCH, "GOARCH to build for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	path, sum, err := build(ctx, *out, *arch)
	if err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
	fmt.Println(path, sum)
}

func build(ctx context.Context, out, arch string) (path, sum string, err error) {
	out, err = filepath.Abs(out)
	if err != nil {
		return "", "", fmt.Errorf("finding the output directory: %w", err)
	}
	version, err := command(ctx, nil, "go", "list", "-m", "-f", "{{.Version}}", module)
	if err != nil {
		return "", "", fmt.Errorf("reading the pinned version: %w", err)
	}
	bin := filepath.Join(out, "linux-"+arch)
	path = filepath.Join(out, "cni-plugins-linux-"+arch+"-"+version+".tgz")
	recipe, err := recipe()
	if err != nil {
		return "", "", err
	}
	stamp := filepath.Join(bin, ".recipe") // written last, so that it proves that the archive is complete
	if sum, ok := upToDate(path, stamp, recipe); ok {
		return path, sum, nil
	}
	if err := os.RemoveAll(bin); err != nil {
		return "", "", fmt.Errorf("removing the old plugins: %w", err)
	}
	// The flags of the release: static, stripped, and `bridge --version` prints the version.
	flags := "-s -w -X " + module + "/pkg/utils/buildversion.BuildVersion=" + version
	_, err = command(ctx, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + arch},
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", bin+"/", "tool")
	if err != nil {
		return "", "", fmt.Errorf("building the plugins: %w", err)
	}
	if sum, err = pack(path, bin); err != nil {
		return "", "", fmt.Errorf("packing the plugins: %w", err)
	}
	line := sum + "  " + filepath.Base(path) + "\n"
	if err := errors.Join(os.WriteFile(path+".sha256", []byte(line), 0o644), os.WriteFile(stamp, []byte(recipe), 0o644)); err != nil {
		return "", "", fmt.Errorf("writing the hash: %w", err)
	}
	return path, sum, nil
}

// recipe returns a hash of everything that determines the archive.
func recipe() (string, error) {
	sum := sha256.New()
	io.WriteString(sum, runtime.Version())
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("reading the recipe (run in examples/assets): %w", err)
		}
		sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// upToDate returns the sha256 of an existing archive that was built with this recipe.
func upToDate(path, stamp, recipe string) (string, bool) {
	built, err := os.ReadFile(stamp)
	if err != nil || string(built) != recipe {
		return "", false
	}
	if _, err := os.Stat(path); err != nil {
		return "", false
	}
	line, err := os.ReadFile(path + ".sha256")
	sum, _, _ := strings.Cut(string(line), " ")
	return sum, err == nil && len(sum) == 2*sha256.Size
}

func plugins(bin string) ([]string, error) {
	entries, err := os.ReadDir(bin)
	if err != nil {
		return nil, fmt.Errorf("listing the plugins: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != "cnitool" && !strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// pack writes the archive to a temporary file and renames it, so that no reader sees an incomplete
// one.
func pack(path, bin string) (string, error) {
	names, err := plugins(bin)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".packing-")
	if err != nil {
		return "", fmt.Errorf("making the archive: %w", err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	sum := sha256.New()
	zip := gzip.NewWriter(io.MultiWriter(file, sum))
	archive := tar.NewWriter(zip)
	// The archive contains nothing of this machine: no owner, only the time zero, and sorted names.
	header := tar.Header{Typeflag: tar.TypeDir, Name: "./", Mode: 0o755, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := archive.WriteHeader(&header); err != nil {
		return "", fmt.Errorf("writing the archive: %w", err)
	}
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			return "", fmt.Errorf("reading a plugin: %w", err)
		}
		header := header
		header.Typeflag, header.Name, header.Size = tar.TypeReg, "./"+name, int64(len(content))
		if err := archive.WriteHeader(&header); err != nil {
			return "", fmt.Errorf("writing the archive: %w", err)
		}
		if _, err := archive.Write(content); err != nil {
			return "", fmt.Errorf("writing the archive: %w", err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close(), file.Chmod(0o644), file.Close()); err != nil {
		return "", fmt.Errorf("writing the archive: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return "", fmt.Errorf("publishing the archive: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// command runs a program in the directory of go.mod, and returns its output.
func command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
