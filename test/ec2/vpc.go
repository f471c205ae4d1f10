package ec2

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// VPC is the part of a region that programs use which give addresses to pods: instances, their
// interfaces, and one subnet with the addresses of the interfaces. Set the exported fields before
// the VPC serves.
type VPC struct {
	ID, Zone   string
	Ranges     []netip.Prefix // the first one is the primary one
	Subnet     string
	SubnetCIDR netip.Prefix
	SubnetTags map[string]string
	Next       netip.Addr // the next address that is given out
	// Attach makes the link of an interface on the instance that it is attached to now.
	Attach func(Interface) error
	// Own makes packets for an address go to an interface from now on.
	Own func(netip.Addr, Interface) error

	mu         sync.Mutex
	instances  []Instance
	interfaces []*Interface // in the order in which they were made
	made       int
}

// Instance is a machine of the VPC.
type Instance struct {
	ID, Type string
	MAC      string // of its primary interface
	Address  netip.Addr
	Groups   []string // security groups of its primary interface
	// Interfaces and Addresses are how many interfaces its type may have, and how many IPv4
	// addresses each.
	Interfaces, Addresses int
}

// Interface is an elastic network interface.
type Interface struct {
	ID, MAC   string
	Addresses []netip.Addr // its own first
	Groups    []string
	Tags      map[string]string
	Instance  string // "": of none
	Device    int    // number on the instance; 0 is the primary one
}

// Launch adds an instance with its primary interface, whose link exists.
func (v *VPC) Launch(i Instance) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.instances = append(v.instances, i)
	v.interfaces = append(v.interfaces, &Interface{ID: v.name("eni"), MAC: i.MAC, Addresses: []netip.Addr{i.Address}, Groups: i.Groups,
		Tags: map[string]string{}, Instance: i.ID})
}

// Further gives an instance its second interface, whose link does not exist yet.
func (v *VPC) Further(instance string, groups ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, _ := v.add(1) // which no limit refuses
	e.Instance, e.Device, e.Groups = instance, 1, groups
}

// Of returns a copy of an instance's interfaces, in the order of their numbers.
func (v *VPC) Of(instance string) []Interface {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []Interface
	for _, e := range v.interfaces {
		if e.Instance == instance {
			one := *e
			one.Addresses, one.Tags = slices.Clone(e.Addresses), maps.Clone(e.Tags)
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Interface) int { return cmp.Compare(a.Device, b.Device) })
	return out
}

// Metadata returns what the metadata service of an instance says now about the interfaces, by path
// below /latest/.
func (v *VPC) Metadata(instance string) map[string]string {
	out := map[string]string{}
	var ranges []string
	for _, r := range v.Ranges {
		ranges = append(ranges, r.String())
	}
	for _, e := range v.Of(instance) {
		var addresses []string
		for _, a := range e.Addresses {
			addresses = append(addresses, a.String())
		}
		if e.Device == 0 {
			out["meta-data/mac"], out["meta-data/local-ipv4"] = e.MAC, addresses[0]
		}
		for name, value := range map[string]string{
			"device-number": strconv.Itoa(e.Device), "interface-id": e.ID, "mac": e.MAC, "owner-id": "123456789012", "network-card": "0",
			"local-ipv4s": strings.Join(addresses, "\n"), "security-group-ids": strings.Join(e.Groups, "\n"),
			"subnet-id": v.Subnet, "subnet-ipv4-cidr-block": v.SubnetCIDR.String(),
			"vpc-id": v.ID, "vpc-ipv4-cidr-block": ranges[0], "vpc-ipv4-cidr-blocks": strings.Join(ranges, "\n"),
		} {
			out["meta-data/network/interfaces/macs/"+e.MAC+"/"+name] = value
		}
	}
	return out
}

// answer answers an action that is of a VPC; false: there is none of that name.
func (v *VPC) answer(w http.ResponseWriter, action string, form url.Values) bool {
	does, known := map[string]func(url.Values) (string, *problem){
		"DescribeNetworkInterfaces":       v.describeInterfaces,
		"DescribeInstances":               v.describeInstances,
		"DescribeInstanceTypes":           v.describeTypes,
		"DescribeSubnets":                 v.describeSubnets,
		"DescribeVpcs":                    v.describeVPCs,
		"CreateNetworkInterface":          v.create,
		"AttachNetworkInterface":          v.attach,
		"DetachNetworkInterface":          v.detach,
		"DeleteNetworkInterface":          v.remove,
		"ModifyNetworkInterfaceAttribute": v.change,
		"AssignPrivateIpAddresses":        v.assign,
		"UnassignPrivateIpAddresses":      v.unassign,
		"CreateTags":                      v.tag,
	}[action]
	if !known {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if body, p := does(form); p != nil {
		fail(w, http.StatusBadRequest, p.code, p.message)
	} else {
		say(w, action, "%s", body)
	}
	return true
}

// problem is why an action is refused.
type problem struct{ code, message string }

const done = "<return>true</return>"

func (v *VPC) name(kind string) string {
	v.made++
	return fmt.Sprintf("%s-%017x", kind, v.made)
}

func (v *VPC) find(id string) (*Interface, *problem) {
	for _, e := range v.interfaces {
		if e.ID == id {
			return e, nil
		}
	}
	return nil, &problem{"InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '" + id + "' does not exist"}
}

// ofAttachment is the interface of an attachment, whose name is made of the interface's.
func (v *VPC) ofAttachment(id string) (*Interface, *problem) {
	e, p := v.find(strings.Replace(id, "eni-attach-", "eni-", 1))
	if p != nil || e.Instance == "" {
		return nil, &problem{"InvalidAttachmentID.NotFound", "The attachment ID '" + id + "' does not exist"}
	}
	return e, nil
}

func (e *Interface) attachment() string { return strings.Replace(e.ID, "eni-", "eni-attach-", 1) }

func (v *VPC) instance(id string) (Instance, *problem) {
	for _, i := range v.instances {
		if i.ID == id {
			return i, nil
		}
	}
	return Instance{}, &problem{"InvalidInstanceID.NotFound", "The instance ID '" + id + "' does not exist"}
}

// add makes an interface with addresses of its own, of no instance.
func (v *VPC) add(addresses int) (*Interface, *problem) {
	e := &Interface{ID: v.name("eni"), Tags: map[string]string{}}
	e.MAC = fmt.Sprintf("02:00:00:00:01:%02x", v.made)
	_, p := v.free(e, addresses)
	v.interfaces = append(v.interfaces, e)
	return e, p
}

// free gives an interface more addresses.
func (v *VPC) free(e *Interface, count int) ([]netip.Addr, *problem) {
	if i, p := v.instance(e.Instance); p == nil && len(e.Addresses)+count > i.Addresses {
		return nil, &problem{"PrivateIpAddressLimitExceeded", fmt.Sprintf("Number of private addresses will exceed limit of %d", i.Addresses)}
	}
	var out []netip.Addr
	for range count {
		out = append(out, v.Next)
		v.Next = v.Next.Next()
	}
	e.Addresses = append(e.Addresses, out...)
	return out, v.owned(e, out)
}

func (v *VPC) owned(e *Interface, addresses []netip.Addr) *problem {
	if e.Instance == "" { // packets go nowhere yet
		return nil
	}
	for _, a := range addresses {
		if err := v.Own(a, *e); err != nil {
			return &problem{"InternalError", err.Error()}
		}
	}
	return nil
}

func (v *VPC) create(form url.Values) (string, *problem) {
	if form.Get("SubnetId") != v.Subnet {
		return "", &problem{"InvalidSubnetID.NotFound", "The subnet ID '" + form.Get("SubnetId") + "' does not exist"}
	}
	more, _ := strconv.Atoi(form.Get("SecondaryPrivateIpAddressCount")) // "": none
	e, p := v.add(1 + more)
	if p != nil {
		return "", p
	}
	e.Groups, e.Tags = list(form, "SecurityGroupId.%d"), tags(form, "TagSpecification.1.")
	return "<networkInterface>" + v.describe(e) + "</networkInterface>", nil
}

func (v *VPC) attach(form url.Values) (string, *problem) {
	e, p := v.find(form.Get("NetworkInterfaceId"))
	if p != nil {
		return "", p
	}
	i, p := v.instance(form.Get("InstanceId"))
	if p != nil {
		return "", p
	}
	device, err := strconv.Atoi(form.Get("DeviceIndex"))
	has := 0
	for _, other := range v.interfaces {
		if other.Instance == i.ID {
			has++
			if other.Device == device || err != nil {
				return "", &problem{"InvalidParameterValue", "Instance '" + i.ID + "' already has an interface attached at device index '" + form.Get("DeviceIndex") + "'."}
			}
		}
	}
	if has >= i.Interfaces {
		return "", &problem{"AttachmentLimitExceeded", fmt.Sprintf("Interface count %d exceeds the limit for %s", has+1, i.Type)}
	}
	e.Instance, e.Device = i.ID, device
	if err := v.Attach(*e); err != nil {
		return "", &problem{"InternalError", err.Error()}
	}
	return "<attachmentId>" + e.attachment() + "</attachmentId><networkCardIndex>0</networkCardIndex>", v.owned(e, e.Addresses)
}

func (v *VPC) detach(form url.Values) (string, *problem) {
	e, p := v.ofAttachment(form.Get("AttachmentId"))
	if p != nil {
		return "", p
	}
	e.Instance = ""
	return done, nil
}

func (v *VPC) remove(form url.Values) (string, *problem) {
	e, p := v.find(form.Get("NetworkInterfaceId"))
	if p == nil && e.Instance != "" {
		p = &problem{"InvalidParameterValue", "Network interface '" + e.ID + "' is currently in use."}
	}
	v.interfaces = slices.DeleteFunc(v.interfaces, func(other *Interface) bool { return p == nil && other == e })
	return done, p
}

// change takes security groups; that an interface ends with its instance is so anyway.
func (v *VPC) change(form url.Values) (string, *problem) {
	e, p := v.find(form.Get("NetworkInterfaceId"))
	if p != nil {
		return "", p
	}
	if groups := list(form, "SecurityGroupId.%d"); len(groups) > 0 {
		e.Groups = groups
	}
	if id := form.Get("Attachment.AttachmentId"); id != "" {
		_, p = v.ofAttachment(id)
	}
	return done, p
}

func (v *VPC) assign(form url.Values) (string, *problem) {
	e, p := v.find(form.Get("NetworkInterfaceId"))
	if p != nil {
		return "", p
	}
	count, err := strconv.Atoi(form.Get("SecondaryPrivateIpAddressCount"))
	if err != nil || count < 1 {
		return "", &problem{"InvalidParameterValue", "count of addresses"}
	}
	given, p := v.free(e, count)
	var items strings.Builder
	for _, a := range given {
		fmt.Fprintf(&items, "<item><privateIpAddress>%s</privateIpAddress></item>", a)
	}
	return done + "<networkInterfaceId>" + e.ID + "</networkInterfaceId><assignedPrivateIpAddressesSet>" + items.String() + "</assignedPrivateIpAddressesSet>", p
}

func (v *VPC) unassign(form url.Values) (string, *problem) {
	e, p := v.find(form.Get("NetworkInterfaceId"))
	if p != nil {
		return "", p
	}
	gone := list(form, "PrivateIpAddress.%d")
	e.Addresses = slices.DeleteFunc(e.Addresses, func(a netip.Addr) bool { return a != e.Addresses[0] && slices.Contains(gone, a.String()) })
	return done, nil
}

func (v *VPC) tag(form url.Values) (string, *problem) {
	for _, id := range list(form, "ResourceId.%d") {
		e, p := v.find(id)
		if p != nil {
			return "", p
		}
		maps.Copy(e.Tags, tags(form, ""))
	}
	return done, nil
}

// list is a parameter that has several values, each under a name with its number.
func list(form url.Values, name string) (out []string) {
	for i := 1; form.Has(fmt.Sprintf(name, i)); i++ {
		out = append(out, form.Get(fmt.Sprintf(name, i)))
	}
	return out
}

func tags(form url.Values, below string) map[string]string {
	keys, values := list(form, below+"Tag.%d.Key"), list(form, below+"Tag.%d.Value")
	out := map[string]string{}
	for i, key := range keys {
		if i < len(values) {
			out[key] = values[i]
		}
	}
	return out
}
