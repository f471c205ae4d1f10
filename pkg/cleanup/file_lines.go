package cleanup

import (
	"context"
	"errors"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// KindLine is the kind of the key of a line: line:/etc/iproute2/rt_tables#77 kube-router.
const KindLine = "line"

func (m LineSelector) matches(line string) bool {
	return strings.Join(strings.Fields(line), " ") == strings.Join(strings.Fields(m.Line), " ")
}

func findLines(_ context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	var out []item
	for _, m := range l.Lines {
		content, err := v.Files.ReadFile(m.File)
		if hostpath.IsMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if left, _ := m.without(content); len(left) == len(content) {
			continue
		}
		out = append(out, item{Key: graph.MakeKey(KindLine, m.File+"#"+m.Line), Detail: "line",
			remove: func(ctx context.Context, h *host.Host) error {
				err := h.Files.EditFile(ctx, m.File, m.without)
				if errors.Is(err, host.ErrNotExist) {
					return nil
				}
				return err
			}})
	}
	return out, nil
}

// without returns a file's content without the line. Every other byte stays. The error is nil: it
// is there for [hostfs.Writer.EditFile].
func (m LineSelector) without(old []byte) ([]byte, error) {
	var kept strings.Builder
	for line := range strings.Lines(string(old)) {
		if !m.matches(line) {
			kept.WriteString(line)
		}
	}
	return []byte(kept.String()), nil
}
