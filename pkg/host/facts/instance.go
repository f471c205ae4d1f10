package facts

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Instance is what AWS says about this instance. Tags and user-data may be secret; of user-data
// only the digest is stored.
type Instance struct {
	ID       string      `json:"id,omitempty"`
	Type     string      `json:"type"` // m6i.large
	Region   string      `json:"region,omitempty"`
	Zone     string      `json:"zone,omitempty"`
	UserData blob.Digest `json:"userDataSHA256,omitzero"`
	// Tags are the instance's tags; nil: the instance may not read them (InstanceMetadataTags). AWS
	// leaves out keys with a slash or a space.
	Tags map[string]string `json:"tags,omitempty"`
	// Interfaces are the instance's interfaces, the primary one first; nil if they were not
	// requested.
	Interfaces []ENI `json:"interfaces,omitempty"`
}

// ENI is an elastic network interface of the instance.
type ENI struct {
	MAC            string         `json:"mac"`
	Link           string         `json:"link,omitempty"` // the link with the MAC; "": none yet
	MTU            int            `json:"mtu,omitempty"`  // of the link
	ID             string         `json:"id"`
	Device         int            `json:"device"` // 0 is the primary one
	Card           int            `json:"card"`
	Subnet         string         `json:"subnet"`
	VPC            string         `json:"vpc"`
	SubnetRanges   []netip.Prefix `json:"subnetRanges,omitempty"`
	VPCRanges      []netip.Prefix `json:"vpcRanges,omitempty"`
	Addresses      []netip.Addr   `json:"addresses,omitempty"` // the first IPv4 is primary
	Delegated      []netip.Prefix `json:"delegated,omitempty"` // prefixes for pods
	SecurityGroups []string       `json:"securityGroups,omitempty"`
}

const (
	imdsAtOnce = 8               // concurrent requests
	imdsFacts  = 2 * time.Second // for the type only
	imdsAll    = 5 * time.Second // for everything
)

// LearnInstance adds to the facts what AWS says about this instance: only its type, or everything
// with interfaces and tags. If the firmware has the type (Nitro), it does not ask for the type.
// Otherwise it waits at most two seconds, or five for everything. If the firmware says that this is
// not AWS, it asks nothing. A missing answer is listed in [Facts.Problems]. The goroutine that
// opened the view must call it before the facts are used.
func (l *Sources) LearnInstance(ctx context.Context, f *Facts, all bool) {
	if f.Cloud != "aws" || f.Instance != nil {
		return
	}
	if known := nitroType(l.kernel); known != "" && !all {
		f.Instance = &Instance{Type: known}
		return
	}
	client := newIMDS()
	defer client.client.CloseIdleConnections()
	instance, err := learnInstance(ctx, client, all)
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("read AWS' metadata of this instance: %v", err))
	}
	if instance == nil {
		return
	}
	f.Instance = instance
	if !all {
		return
	}
	links, err := l.net.Links(ctx)
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("find the links of the instance's interfaces: %v", err))
	}
	for i := range instance.Interfaces {
		e := &instance.Interfaces[i]
		if at := slices.IndexFunc(links,
			func(l rtnl.Link) bool { return l.Physical && strings.EqualFold(l.MAC, e.MAC) }); at >= 0 {
			e.Link, e.MTU = links[at].Name, links[at].MTU
		}
	}
}

// learnInstance asks the service. On an error, it also returns what it has read.
func learnInstance(ctx context.Context, m *imdsClient, all bool) (*Instance, error) {
	limit := imdsFacts
	if all {
		limit = imdsAll
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	raw, err := m.get(ctx, "dynamic/instance-identity/document")
	if err != nil {
		return nil, err
	}
	var doc struct{ InstanceID, InstanceType, Region, AvailabilityZone string }
	if err := json.Unmarshal([]byte(raw), &doc); err != nil || doc.InstanceID == "" {
		return nil, fmt.Errorf("the instance's identity document is not valid: %.80q", raw)
	}
	out := &Instance{ID: doc.InstanceID, Type: doc.InstanceType, Region: doc.Region, Zone: doc.AvailabilityZone}
	if !all {
		return out, nil
	}
	var errs []error
	if data, err := m.get(ctx, "user-data"); err == nil {
		out.UserData = sha256.Sum256([]byte(data))
	} else if !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	out.Tags, err = m.tags(ctx)
	errs = append(errs, err)
	out.Interfaces, err = m.interfaces(ctx)
	return out, errors.Join(append(errs, err)...)
}

// tags returns the instance's tags, or nil if the instance may not read them.
func (m *imdsClient) tags(ctx context.Context) (map[string]string, error) {
	names, err := m.list(ctx, "meta-data/tags/instance")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return m.each(ctx, "meta-data/tags/instance/", names)
}

// interfaces returns all interfaces of the instance, sorted by card and device.
func (m *imdsClient) interfaces(ctx context.Context) ([]ENI, error) {
	const dir = "meta-data/network/interfaces/macs/"
	macs, err := m.list(ctx, dir)
	if err != nil {
		return nil, err
	}
	var out []ENI
	var errs []error
	for _, mac := range macs {
		mac = strings.TrimSuffix(mac, "/")
		items, err := m.list(ctx, dir+mac+"/")
		if err != nil {
			errs = append(errs, err) // detached meanwhile
			continue
		}
		items = slices.DeleteFunc(items, func(item string) bool { return !slices.Contains(eniItems, item) })
		values, err := m.each(ctx, dir+mac+"/", items)
		errs = append(errs, err)
		out = append(out, eniOf(mac, values))
	}
	slices.SortStableFunc(out, func(a, b ENI) int { return (a.Card-b.Card)*1000 + a.Device - b.Device })
	return out, errors.Join(errs...)
}

// eniItems are the items that are read of an interface. An instance has only the items that existed
// when it was launched.
var eniItems = []string{"interface-id", "device-number", "network-card", "subnet-id", "vpc-id",
	"subnet-ipv4-cidr-block", "subnet-ipv6-cidr-blocks",
	"vpc-ipv4-cidr-blocks", "vpc-ipv6-cidr-blocks", "local-ipv4s", "ipv6s", "ipv4-prefix", "ipv6-prefix",
	"security-group-ids"}

func eniOf(mac string, v map[string]string) ENI {
	e := ENI{MAC: mac, ID: v["interface-id"], Subnet: v["subnet-id"], VPC: v["vpc-id"],
		SecurityGroups: strings.Fields(v["security-group-ids"])}
	e.Device, _ = strconv.Atoi(v["device-number"]) // a missing item is 0
	e.Card, _ = strconv.Atoi(v["network-card"])
	e.SubnetRanges = ranges(v["subnet-ipv4-cidr-block"] + "\n" + v["subnet-ipv6-cidr-blocks"])
	e.VPCRanges = ranges(v["vpc-ipv4-cidr-blocks"] + "\n" + v["vpc-ipv6-cidr-blocks"])
	e.Delegated = ranges(v["ipv4-prefix"] + "\n" + v["ipv6-prefix"])
	for text := range strings.FieldsSeq(v["local-ipv4s"] + "\n" + v["ipv6s"]) {
		if addr, err := netip.ParseAddr(text); err == nil {
			e.Addresses = append(e.Addresses, addr)
		}
	}
	return e
}

func ranges(text string) (out []netip.Prefix) {
	for word := range strings.FieldsSeq(text) {
		if p, err := netip.ParsePrefix(word); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// list returns the names in a directory of the metadata, one on each line.
func (m *imdsClient) list(ctx context.Context, path string) ([]string, error) {
	text, err := m.get(ctx, path)
	return strings.Fields(text), err
}

// each reads several items of a directory in parallel. It leaves out an item that no longer exists.
func (m *imdsClient) each(ctx context.Context, dir string, names []string) (map[string]string, error) {
	out, errs := map[string]string{}, make([]error, len(names))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			value, err := m.get(ctx, dir+name)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				out[name] = value
			} else if !errors.Is(err, fs.ErrNotExist) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return out, errors.Join(errs...)
}
