package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/tasks"
)

// healthChecks runs the network's health checks. A failed check is only a wait until the conf is in
// force, which says that the network is ready. After that it is a failure.
func (c *checker) healthChecks(ctx context.Context) error {
	const check = "sign of life"
	for _, s := range c.want.HealthChecks {
		seen, there, err := c.sign(ctx, s)
		switch {
		case errors.Is(err, host.ErrNoLiveState):
			c.note(check, notApplicable(s.Text+": this host cannot answer"))
		case err != nil && !errors.Is(err, errSilent):
			return fmt.Errorf("look whether %s: %w", s.Text, err)
		case there:
			c.note(check, well(s.Text+": "+seen))
		default:
			result := waiting
			if len(c.confs) > 0 && !errors.Is(err, fs.ErrPermission) {
				result = failed
			}
			next := cmp.Or(s.Missing, c.want.ifMissing())
			if err != nil {
				seen, next = err.Error(), lookAtRuntime(c.view.Facts.Runtime)
			}
			c.note(check, result(s.Text+": "+seen, next))
		}
	}
	return nil
}

// sign checks everything that a health check names, and returns what it found.
func (c *checker) sign(ctx context.Context, s network.HealthCheck) (seen string, there bool, err error) {
	if s.URL != "" && c.run == nil {
		return "", false, host.ErrNoLiveState // a program that listens here is not the image's
	}
	var parts []string
	for _, look := range []func(context.Context, network.HealthCheck) (string, bool, error){c.path, c.lease, c.link,
		c.table, c.health} {
		part, ok, err := look(ctx, s)
		if err != nil {
			return "", false, err
		}
		if !ok {
			return part, false, nil
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", "), true, nil
}

func (c *checker) path(ctx context.Context, s network.HealthCheck) (string, bool, error) {
	if s.Path == "" {
		return "", true, nil
	}
	names, err := cleanup.Expand(c.view, s.Path)
	if err != nil {
		return "", false, err
	}
	for _, name := range names {
		info, err := c.view.Files.Lstat(name)
		switch {
		case err == nil && info.Type == hostfs.Other && c.run != nil && deserted(ctx, name):
			return "nobody listens at " + name, false, nil
		case err == nil:
			return name, true, nil
		case !hostpath.IsMissing(err):
			return "", false, err
		}
	}
	if s.Pods && s.Link == "" {
		if living, err := c.living(ctx); err != nil || living == 0 {
			return noPods, err == nil, err
		}
	}
	return s.Path + " is not there", s.Lease != "", nil // lease below checks a missing lease file
}

// noPods is the result of a check of pods where there are none.
const noPods = "no pod with an address runs here yet"

// errSilent means that the runtime does not answer which pods there are.
var errSilent = errors.New("the runtime does not say which pods run here")

// living counts the pods here that have their own addresses.
func (c *checker) living(ctx context.Context) (living int, err error) {
	pods, err := c.view.Runtime.Pods(ctx)
	if err != nil && !errors.Is(err, host.ErrNoLiveState) {
		err = fmt.Errorf("%w: %w", errSilent, err)
	}
	for _, p := range pods {
		if addressed(p) {
			living++
		}
	}
	return living, err
}

// deserted reports whether a path is a socket whose program has gone: a killed program leaves its
// socket file.
func deserted(ctx context.Context, name string) bool {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return false // connecting to a device gives the same error
	}
	conn, err := (&net.Dialer{Timeout: healthTimeout}).DialContext(ctx, "unix", name)
	if err == nil {
		err = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func (c *checker) link(ctx context.Context, s network.HealthCheck) (string, bool, error) {
	if s.Link == "" {
		return "", true, nil
	}
	links, err := c.view.Net.Links(ctx)
	if err != nil {
		return "", false, err
	}
	if s.Pods {
		return c.podLinks(ctx, s, links)
	}
	seen := s.Link + " is not there"
	for _, l := range links {
		match, err := path.Match(s.Link, l.Name)
		switch {
		case err != nil || !match:
		case s.Kind != "" && l.Kind != s.Kind:
			seen = fmt.Sprintf("%s is of kind %q, not %s", l.Name, l.Kind, s.Kind)
		case !l.Up:
			seen = l.Name + " is down"
		default:
			return l.Name + " is up", true, nil
		}
	}
	return seen, false, nil
}

// lease checks that a link has the IPv4 address of its lease. Where the link has another one, the
// plugin bridge refuses to add pods.
// https://github.com/containernetworking/plugins/blob/v1.9.1/plugins/main/bridge/bridge.go
// (ensureAddr)
func (c *checker) lease(ctx context.Context, s network.HealthCheck) (string, bool, error) {
	link, variable, ok := strings.Cut(s.Lease, " ")
	if !ok {
		return "", true, nil
	}
	raw, err := c.view.Files.ReadFile(s.Path)
	if err != nil && !hostpath.IsMissing(err) {
		return "", false, err
	}
	addresses, err := c.view.Net.Addresses(ctx, link)
	if tasks.IgnoreMissing(err) != nil {
		return "", false, err
	}
	lease, seen := "", ""
	for line := range strings.Lines(string(raw)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name == variable {
			lease = value
		}
	}
	for _, a := range addresses {
		switch has := a.Prefix.String(); {
		case has == lease || lease == "":
			return link + " has " + has, true, nil
		case a.Prefix.Addr().Is4():
			seen = fmt.Sprintf("%s has %s, and the lease is %s", link, has, lease)
		}
	}
	return cmp.Or(seen, link+" has no address yet"), seen == "", nil
}

// podLinks counts the links that a check names, and the pods, which need one link each.
func (c *checker) podLinks(ctx context.Context, s network.HealthCheck, links []rtnl.Link) (string, bool, error) {
	living, err := c.living(ctx)
	if err != nil {
		return "", false, err
	}
	up := 0
	for _, l := range links {
		// an invalid pattern matches nothing
		if match, _ := path.Match(s.Link, l.Name); match && l.Up && (s.Kind == "" || l.Kind == s.Kind) &&
			(s.Master == "" || l.Master == s.Master) {
			up++
		}
	}
	if living == 0 {
		return noPods, true, nil
	}
	what := s.Link
	if s.Master != "" {
		what += " on " + s.Master
	}
	return fmt.Sprintf("%d of %s up for %s with an address", up, what, plural.Of(living, "pod")), up >= living, nil
}

func (c *checker) table(ctx context.Context, s network.HealthCheck) (string, bool, error) {
	family, name, ok := strings.Cut(s.Table, " ")
	if !ok {
		return "", true, nil
	}
	tables, err := c.view.Firewall.Tables(ctx)
	if err != nil {
		return "", false, err
	}
	for _, t := range tables {
		if t.Family == family && t.Name == name {
			return "table " + s.Table, true, nil
		}
	}
	return "nft table " + s.Table + " is not there", false, nil
}
