package tasks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// fromAnywhere tries one URL after the other for the members. damaged has the errors of damaged
// cached copies.
func (t Archive) fromAnywhere(ctx context.Context, members, damaged []string, try func(from string) error) error {
	if len(members) == 0 {
		return nil
	}
	err := t.fromURLs(ctx, try)
	if err != nil && len(damaged) > 0 {
		err = fmt.Errorf("%w\nkept copies of its files were damaged, and were deleted: %s", err,
			strings.Join(damaged, "; "))
	}
	return err
}

func (t Archive) fromURLs(ctx context.Context, try func(from string) error) error {
	if len(t.URLs) == 0 || t.Fetch == nil {
		return fmt.Errorf("install %s: it has no URL: add urls to its entry in spec.assets", t.Name)
	}
	var failed []error
	for _, from := range t.URLs {
		err := try(from)
		if err == nil {
			return nil
		}
		if graph.IsWait(err) { // it is on its way, of which a pass has read more each time
			if read, ok := errors.AsType[*archive.SourceError](err); ok {
				err = read.Err
			}
			return err
		}
		if shown := Shown(from); !strings.Contains(err.Error(), shown) { // the error of a request has the URL already
			err = fmt.Errorf("from %s: %w", shown, err)
		}
		if !t.elsewhere(err) || ctx.Err() != nil {
			return fmt.Errorf("install %s: %w", t.Name, err)
		}
		failed = append(failed, err)
	}
	return fmt.Errorf("install %s: no URL gave the right archive:\n%w\nput the archive with %s %s at one of the URLs, or "+
		"correct its entry in spec.assets",
		t.Name, errors.Join(failed...), t.Sum.Algorithm(), t.Sum)
}

// install fetches the archive from one URL, or uses the prefetched one. It installs the members and
// the receipt as one batch.
func (t Archive) install(
	ctx context.Context, h *host.Host, from string, members []string, want access, prefetched *ArchivePrefetch,
) error {
	of := t.unpacking(members, want)
	b, got, err := prefetched.take(ctx, from, of)
	if b == nil && err == nil {
		b = h.Files.Batch()
		got, err = t.unpack(ctx, b, from, of)
	}
	if b != nil {
		defer b.Discard()
	}
	if err != nil {
		return err
	}
	if err := t.writeReceipt(h.Live.View(), b, got); err != nil {
		return err
	}
	return b.Commit(ctx)
}

func (t Archive) unpacking(members []string, want access) hostfs.Unpacking {
	return hostfs.Unpacking{Name: t.Name, Sum: t.Sum, Dir: t.Dir, Members: members, Spec: want.spec()}
}

// unpack fetches the archive and stages its members.
func (t Archive) unpack(
	ctx context.Context, b *hostfs.Batch, from string, u hostfs.Unpacking,
) (map[string]hostfs.Member, error) {
	body, _, err := t.Fetch.Open(ctx, from)
	if err != nil {
		return nil, &unfetchedError{err}
	}
	defer body.Close()
	got, err := b.Unpack(ctx, body, u)
	if _, ok := errors.AsType[*archive.SourceError](err); ok && !graph.IsWait(err) && !graph.IsPermanent(err) {
		return nil, graph.Transient(err)
	}
	return got, err
}

// unfetchedError is an error of opening a URL.
type unfetchedError struct{ error }

func (e *unfetchedError) Unwrap() error { return e.error }

// elsewhere reports whether another URL may help: not where the right archive has an error, or
// where the disk is full.
func (t Archive) elsewhere(err error) bool {
	var (
		unfetched *unfetchedError
		source    *archive.SourceError
		archive   *archive.Error
	)
	return errors.As(err, &unfetched) || errors.As(err, &source) || errors.As(err, &archive) && !archive.Right
}

// Shown returns a URL that may be printed: without user, password and query, which can be
// credentials.
func Shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "a URL that cannot be parsed"
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}
