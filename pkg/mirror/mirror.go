// Package mirror copies the assets that the nodes of a store ask for into the store itself, so that
// the nodes need no other server. `agent store vendor` calls it.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/tasks"
)

// Download is an asset that nodes of a cluster ask for.
type Download struct {
	Name  string           `json:"name"` // such as "cni-plugins v1.9.1"
	Arch  string           `json:"arch"`
	URLs  []string         `json:"urls"` // where it comes from, tried in order, as they may be shown
	File  string           `json:"file"` // its copy, below the cluster's directory
	Sum   archive.Checksum `json:"sum"`
	Bytes int64            `json:"bytes"`
	// Fetched says that it was fetched now. Else the copy was there, and had the right sum.
	Fetched bool `json:"fetched"`

	from []string // URLs, with their credentials
}

// Copied is what a cluster's nodes ask for, and has a copy in the store.
type Copied struct {
	Cluster string     `json:"cluster"`
	Assets  []Download `json:"assets"`
	// Unset are the node groups and nodes whose documents do not say spec.assetsMirror: assets.
	// They go on asking the URLs.
	Unset []string `json:"unset,omitempty"`
}

// Cluster is a cluster of a directory store.
type Cluster struct {
	Store  statestore.Store
	To     objectstore.Destination // where the copies go: the same store
	Assets tasks.Fetcher
	Archs  []string // the architectures of the nodes, in GOARCH's words
}

// Copy fetches each asset whose copy is not there or is damaged. A copy gets its name when its sum
// is right. After an error it may be called again: what is there is not fetched twice.
func (c Cluster) Copy(ctx context.Context) (*Copied, error) {
	c.Store = statestore.Bounded(c.Store)
	snap, err := c.Store.Fetch(ctx, statestore.Revision{})
	if err != nil {
		return nil, fmt.Errorf("fetch the configuration: %w", err)
	}
	out := &Copied{Cluster: snap.Cluster, Assets: []Download{}}
	for _, n := range check.Nodes(snap) {
		d, err := desired.Load(ctx, c.Store, n, statestore.Revision{})
		if err != nil {
			return nil, err
		}
		if d.Node.AssetsMirror != extras.StoreMirror {
			out.Unset = append(out.Unset, check.CheckedNode{NodeGroup: n.Group, Node: n.Node}.Subject())
		}
		if d.Node.AssetsMirror == extras.StoreMirror {
			d.Node.AssetsMirror = "" // where the copies come from
		}
		for _, arch := range c.Archs {
			if err := out.add(d, arch); err != nil {
				return nil, err
			}
		}
	}
	for i := range out.Assets {
		if err := c.copy(ctx, &out.Assets[i]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// add adds what nodes of an architecture ask for.
func (out *Copied) add(d *desired.State, arch string) error {
	facts := check.DefaultFacts()
	facts.Arch = arch
	g, _, err := d.Graph(facts, model.Discovered{}, nil)
	if err != nil {
		return fmt.Errorf("for %s (--arch says for which architectures): %w", arch, err)
	}
	for _, t := range g.Order() {
		asked, ok := t.(tasks.Archive)
		if !ok || len(asked.URLs) == 0 {
			continue
		}
		a := Download{Name: asked.Name, Arch: arch, from: asked.URLs, File: model.Mirrored(asked.URLs[0], extras.StoreMirror), Sum: asked.Sum}
		if strings.Contains(a.File, "://") || a.File == asked.URLs[0] { // on the node's disk, or in the store already
			continue
		}
		for _, url := range asked.URLs {
			a.URLs = append(a.URLs, tasks.Shown(url))
		}
		i := slices.IndexFunc(out.Assets, func(b Download) bool { return b.File == a.File })
		switch {
		case i < 0:
			out.Assets = append(out.Assets, a)
		case out.Assets[i].Sum != a.Sum:
			return fmt.Errorf("%s (%s) and %s (%s) would both be %s, with other sums: give one of them another path in "+
				"spec.assets", out.Assets[i].Name, out.Assets[i].URLs[0], a.Name, a.URLs[0], a.File)
		}
	}
	return nil
}

// copy makes sure of one copy.
func (c Cluster) copy(ctx context.Context, a *Download) error {
	there, _, err := c.Store.Open(ctx, a.File)
	switch {
	case err == nil:
		sum := archive.NewCheck(archive.Wanted{Name: a.Name, Sum: a.Sum})
		a.Bytes, err = io.Copy(sum, there)
		if err = errors.Join(err, there.Close()); err == nil && sum.Err() == nil {
			return nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read the copy of %s: %w", a.Name, err)
	}
	var errs []error
	for i, url := range a.from {
		err := c.fetch(ctx, a, url)
		if err == nil {
			a.Fetched = true
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", a.URLs[i], err))
	}
	return fmt.Errorf("copy %s: %w", a.Name, errors.Join(errs...))
}

// fetch brings the asset from one URL.
func (c Cluster) fetch(ctx context.Context, a *Download, url string) error {
	body, _, err := c.Assets.Open(ctx, url)
	if err != nil {
		return err
	}
	defer body.Close() // only read from
	sum := archive.NewCheck(archive.Wanted{Name: a.Name, Sum: a.Sum})
	data, err := io.ReadAll(io.TeeReader(body, sum))
	if err == nil {
		err = sum.Err()
	}
	if err != nil {
		return err
	}
	a.Bytes = int64(len(data))
	return c.To.Put(ctx, a.File, data)
}
