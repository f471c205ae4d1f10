package facts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// versionStamp is the name under which [hostfs.Stamps] keep a program's version: 32
// bytes of text where a file has its digest. It is believed as long as the
// program's file is the one that was asked.
func versionStamp(program string) string { return program + "#version" }

// cachedVersion is what a program said of its version when it was last asked,
// or "": a pass does not start it, which takes kubelet 100 ms.
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

// LearnVersions asks those programs for their version that are not known yet,
// so that the facts of the next pass have it. It is for the end of a pass that
// may write, and does nothing where there are no stamps to keep it.
func LearnVersions(ctx context.Context, h *Sources, f *Facts) error {
	k := &f.Kubelet
	if h.opt.Stamps == nil || !h.opt.live() || k.Version != "" || !path.IsAbs(k.Program) {
		return nil
	}
	info, err := h.files.Stat(k.Program)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the unit is there before the program
	}
	var out []byte
	if err == nil {
		out, err = sys.Run(ctx,
			sys.Command{Path: k.Program, Args: []string{"--version"}, Timeout: 10 * time.Second, Max: 4096})
	}
	if err != nil {
		return fmt.Errorf("ask kubelet for its version: %w", err)
	}
	fields := strings.Fields(string(out)) // "Kubernetes v1.36.3"
	if len(fields) == 0 || len(fields[len(fields)-1]) > len(blob.Digest{}) {
		return fmt.Errorf("ask kubelet for its version: it says %.80q", out)
	}
	k.Version = strings.TrimPrefix(fields[len(fields)-1], "v")
	var text blob.Digest
	copy(text[:], k.Version)
	h.opt.Stamps.Record(versionStamp(k.Program), info, text)
	return nil
}
