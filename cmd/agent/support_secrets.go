package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/lazyregexp"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/support"
	"github.com/netwright/netwright/pkg/tasks"
)

// secretParams are the parameters of a recorded task that show whether it is secret, and the secret
// value.
type secretParams struct {
	Secret bool
	Mode   fs.FileMode
	Value  any
	Text   string
}

func secretTask(r tasks.Recorded) (p secretParams) {
	_ = json.Unmarshal(r.Params, &p) // other forms are neither files nor values
	return p
}

// secrets adds the secrets of this node to the redactor: from the documents, the ledger, files and
// environments. A secret that cannot be read cannot get into the archive either. secrets also opens
// the store, for the pieces.
func (g *gathering) secrets(ctx context.Context, r *support.Redactor) {
	if g.opened, g.why = g.f.Open(zap.NewNop()); g.why == nil {
		g.desired, _, g.why = g.opened.Documents(ctx)
	}
	if d := g.desired; d != nil {
		for i := range d.Node.FileAssets {
			if f := &d.Node.FileAssets[i]; f.Secret {
				if text, err := f.Content.Bytes(); err == nil {
					r.AddText(string(text))
				}
			}
		}
		for i := range d.Node.Hooks {
			environment(d.Node.Hooks[i].Manifest.Reveal(), r)
		}
	}
	led := ledger.Load(g.view.Files)
	for key, e := range led.Entries() {
		if e.Task == nil {
			continue
		}
		p := secretTask(*e.Task)
		if value, ok := p.Value.(string); ok && p.Secret {
			r.AddText(value)
		}
		if p.Secret || key.Kind() == tasks.KindFile && p.Mode != 0 && p.Mode&0o004 == 0 {
			g.redactFile(fileOf(key), r)
			for _, sum := range e.Task.Blobs {
				if text, err := ledger.Blob(g.view.Files, sum); err == nil {
					r.AddText(string(text))
				}
			}
		}
	}
	if list, err := issue.List(g.f.Host, g.f.Node, time.Now()); err == nil {
		for i := range list {
			g.redactFile(list[i].Key, r)
		}
	}
	for _, file := range []string{g.f.StoreKey, g.f.StoreTokenFile} {
		g.redactFile(file, r)
	}
	for _, file := range []string{cmp.Or(g.f.Kubeconfig, kube.DefaultKubeconfig), g.view.Facts.Kubelet.Kubeconfig} {
		if text, err := g.read(file); err == nil {
			for _, found := range kubeSecrets().FindAllStringSubmatch(string(text), -1) {
				r.Add(found[1])
			}
		}
	}
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); secretName().MatchString(name) {
			r.AddText(value)
		}
	}
}

var (
	// kubeSecrets matches the secret fields of a kubeconfig.
	// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/#AuthInfo
	kubeSecrets = lazyregexp.New(`(?m)["']?(?:token|password|client-key-data)["']?\s*:\s*["']?([^\s"',}]+)`)
	secretName  = lazyregexp.New(`(?i)PASS|SECRET|TOKEN|CREDENTIAL|KEY`)
	// unitSecret matches a line of a unit that may have a secret.
	// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment
	unitSecret = lazyregexp.New(`(?m)^\s*(?:Environment|SetCredential)=(.*)$`)
	quoted     = lazyregexp.New(`"[^"]*"|'[^']*'|\S+`)
)

// environment adds the values of the variables in a unit file.
func environment(unit string, r *support.Redactor) {
	for _, line := range unitSecret().FindAllStringSubmatch(unit, -1) {
		for _, word := range quoted().FindAllString(line[1], -1) {
			if _, value, ok := strings.Cut(strings.Trim(word, `"'`), "="); ok {
				r.Add(value)
			}
		}
	}
}

// fileOf returns the path in a file's key; "" for other kinds.
func fileOf(key graph.Key) string {
	if key.Kind() != tasks.KindFile {
		return ""
	}
	return key.Name()
}

func (g *gathering) redactFile(name string, r *support.Redactor) {
	if text, err := g.read(name); err == nil {
		r.AddText(string(text))
	}
}

// read reads a file of the node. For "" it returns ErrNotExist.
func (g *gathering) read(name string) ([]byte, error) {
	if name == "" {
		return nil, host.ErrNotExist
	}
	return g.view.Files.ReadFile(name)
}
