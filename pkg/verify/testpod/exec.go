package testpod

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/netwright/netwright/pkg/host"
)

// Exec lets libcni start plugins through package host, which alone starts programs.
type Exec struct{ Host *host.Host }

var _ invoke.Exec = Exec{}

// ExecPlugin implements [invoke.Exec].
func (p Exec) ExecPlugin(ctx context.Context, path string, conf []byte, env []string) ([]byte, error) {
	out, err := p.Host.RunPlugin(ctx, path, conf, env)
	if err == nil {
		return out, nil
	}
	// A plugin writes its error to stdout.
	var said types.Error
	if json.Unmarshal(out, &said) == nil && said.Msg != "" {
		return nil, fmt.Errorf("plugin %s: %w", filepath.Base(path), &said)
	}
	return nil, fmt.Errorf("plugin %s: %w", filepath.Base(path), err)
}

// FindInPath implements [invoke.Exec].
func (Exec) FindInPath(plugin string, dirs []string) (string, error) {
	path, err := invoke.FindInPath(plugin, dirs)
	if err != nil {
		return "", fmt.Errorf("find CNI plugin %s: %w", plugin, err)
	}
	return path, nil
}

// Decode implements [invoke.Exec].
func (Exec) Decode(answer []byte) (version.PluginInfo, error) {
	return (&version.PluginDecoder{}).Decode(answer)
}
