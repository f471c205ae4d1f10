package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/lazyregexp"
)

// versionStamp is the name of a program's version in [hostfs.Stamps]: 32 bytes of text in place of
// a digest. It is valid while the program's file does not change.
func versionStamp(program string) string { return program + "#version" }

// cachedVersion returns the version that a program reported earlier, or "". A pass does not run the
// program, because kubelet takes 100 ms to start.
func (l *Sources) cachedVersion(program string) string {
	if l.opt.Stamps == nil || !path.IsAbs(program) {
		return ""
	}
	info, err := l.files.Stat(program)
	if err != nil {
		return ""
	}
	text, ok := l.opt.Stamps.Lookup(versionStamp(program), info)
	if !ok {
		return ""
	}
	return string(bytes.TrimRight(text[:], "\x00"))
}

// versionLimit is how long a program may take to tell its version.
const versionLimit = 10 * time.Second

// LearnVersions runs programs whose version is not cached, so that the facts of the next pass have
// it. A pass that may write calls it at its end. Without stamps it does nothing, because it could
// not store the version. It asks a program that tells no version only once, until its file changes.
func LearnVersions(ctx context.Context, h *Sources, f *Facts) error {
	k := &f.Kubelet
	if h.opt.Stamps == nil || !h.opt.live() || k.Version != "" || !path.IsAbs(k.Program) {
		return nil
	}
	info, err := h.files.Stat(k.Program)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the unit was installed before the program
	}
	if _, asked := h.opt.Stamps.Lookup(versionStamp(k.Program), info); asked && err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, versionLimit, fmt.Errorf("it did not answer within %s", versionLimit))
	defer cancel()
	if err == nil {
		k.Version, err = askVersion(ctx, k.Program)
	}
	if ctx.Err() == nil { // a late answer is another one
		var text blob.Digest
		copy(text[:], k.Version)
		h.opt.Stamps.Record(versionStamp(k.Program), info, text)
	}
	if err != nil {
		return fmt.Errorf("ask kubelet for its version: %w", err)
	}
	return nil
}

// askVersion runs a program that tells its version as the last word of a line.
func askVersion(ctx context.Context, program string) (string, error) {
	out, err := sys.Run(ctx, sys.Command{Path: program, Args: []string{"--version"}, Max: 4096})
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out)) // "Kubernetes v1.36.3"
	if len(fields) == 0 || len(fields[len(fields)-1]) > len(blob.Digest{}) {
		return "", fmt.Errorf("it says %.80q", out)
	}
	return strings.TrimPrefix(fields[len(fields)-1], "v"), nil
}

var sharedLibrary = lazyregexp.New(`^libsystemd-shared-(\d+)`)

// systemdVersion returns the version of networkd, from the name of the library that all systemd
// programs share. It is 0 if the library has another name.
func (g gatherer) systemdVersion() int {
	dirs := []string{"/usr/lib/systemd", "/usr/lib64/systemd", "/lib/systemd"}
	for _, triplet := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "s390x-linux-gnu",
		"riscv64-linux-gnu"} {
		dirs = append(dirs, "/usr/lib/"+triplet+"/systemd", "/lib/"+triplet+"/systemd")
	}
	for _, dir := range dirs {
		names, _ := g.files.ReadDir(dir)
		for _, name := range names {
			if found := sharedLibrary().FindStringSubmatch(name); found != nil {
				release, _ := strconv.Atoi(found[1]) // only digits
				return release
			}
		}
	}
	return 0
}
