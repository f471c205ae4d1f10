package kube

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	netutils "k8s.io/utils/net"
)

// Node has those fields of a Node that a node's network needs.
type Node struct {
	Name              string
	PodCIDRs          []netip.Prefix // assigned by the controller manager; none if it has not yet, or never does
	Addresses         []netip.Addr   // by which other nodes reach it (InternalIP)
	Unschedulable     bool
	CordonedBy        string // why the agent made it unschedulable; "" if the agent did not
	Requests, Answers string // its requests to its peers and its answers to theirs: see pkg/inbound
	Version           string // resourceVersion
	Made              time.Time
}

// The annotations of a Node that requests probes of its ports, and that answers such requests.
const (
	RequestsAnnotation = "netwright.dev/inbound-asks"
	AnswersAnnotation  = "netwright.dev/inbound-answers"
)

// AppliedAnnotation has the number of the generation that is applied on the node.
const AppliedAnnotation = "netwright.dev/applied-generation"

// cordonAnnotation means that the agent made the Node unschedulable, and says why. If somebody
// removes it, the agent does not make the Node schedulable again.
const cordonAnnotation = "netwright.dev/cordoned"

// Node reads one Node. A kubelet may read its own, and since Kubernetes 1.32 no other.
func (c *Client) Node(ctx context.Context, name string) (*Node, error) {
	var raw nodeObject
	if err := c.do(ctx, apiRequest{verb: "get", resource: "nodes", name: name}, nil, &raw); err != nil {
		return nil, err
	}
	n, err := nodeOf(&raw)
	return &n, err
}

// Nodes reads all Nodes. version is that of the list, with which [Client.NodesChanged] continues.
// Since Kubernetes 1.32 a kubelet may not list Nodes (KEP-4601), so the agent needs a
// ServiceAccount of its own.
func (c *Client) Nodes(ctx context.Context) (nodes []Node, version string, err error) {
	version, err = list(ctx, c, listNodes, "", "", func(raw *nodeObject) error {
		n, err := nodeOf(raw)
		nodes = append(nodes, n)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return nodes, version, nil
}

// NodeNames returns the names of all Nodes. It reads only their metadata. It needs the same
// permission as [Client.Nodes].
func (c *Client) NodeNames(ctx context.Context) (names []string, err error) {
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	_, err = list(ctx, c, listNodes, "", metadata, func(o *partialObject) error {
		names = append(names, o.Metadata.Name)
		return nil
	})
	return names, err
}

var listNodes = apiRequest{verb: "list", resource: "nodes"}

func patchNode(name string) apiRequest {
	return apiRequest{verb: "patch", resource: "nodes", name: name, patch: types.MergePatchType}
}

// list reads a list page by page, and returns its version. labels is a label selector ("" for all
// objects), form the Accept header ("" for the client's). If a page is larger than [maxAnswer],
// list requests it again with fewer objects.
func list[T any](
	ctx context.Context, c *Client, w apiRequest, labels, form string, take func(*T) error,
) (version string, err error) {
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: labels}
	for {
		request := c.to(w).VersionedParams(&options, metav1.ParameterCodec)
		if form != "" {
			request.SetHeader("Accept", form)
		}
		var page listOf[T]
		switch err := c.send(ctx, w, request, &page); {
		case tooLarge(err) && options.Limit > 1:
			options.Limit = max(1, options.Limit/4)
			continue
		case err != nil:
			return "", err
		}
		for i := range page.Items {
			if err := take(&page.Items[i]); err != nil {
				return "", err
			}
		}
		if options.Continue = page.Metadata.Continue; options.Continue == "" {
			return page.Metadata.ResourceVersion, nil
		}
	}
}

// Annotate sets an annotation of a Node, or removes it if value is "". A kubelet may annotate its
// own Node. It may be retried.
func (c *Client) Annotate(ctx context.Context, name, key, value string) error {
	text := &value
	if value == "" {
		text = nil
	}
	return c.do(ctx, patchNode(name),
		map[string]any{"metadata": map[string]any{"annotations": map[string]*string{key: text}}}, nil)
}

// Registered returns the uid of a Node, which differs from that of a Node that is registered later
// with the same name. It reads only the metadata, from the server's cache.
func (c *Client) Registered(ctx context.Context, name string) (uid string, err error) {
	var into partialObject
	w := apiRequest{verb: "get", resource: "nodes", name: name}
	err = c.send(ctx, w, c.to(w).VersionedParams(&metav1.GetOptions{ResourceVersion: "0"},
		metav1.ParameterCodec).SetHeader("Accept", onlyMetadata), &into)
	return into.Metadata.UID, err
}

// nodeOf returns the Node of an API object. It parses pod CIDRs as the API server does, which
// accepts leading zeros, also from a kubelet, without the feature gate StrictIPCIDRValidation. It
// ignores an address that cannot be parsed.
func nodeOf(raw *nodeObject) (Node, error) {
	meta := &raw.Metadata
	n := Node{
		Name: meta.Name, Unschedulable: raw.Spec.Unschedulable, CordonedBy: meta.Annotations[cordonAnnotation],
		Version: meta.ResourceVersion, Made: meta.CreationTimestamp.UTC(),
		Requests: meta.Annotations[RequestsAnnotation], Answers: meta.Annotations[AnswersAnnotation],
	}
	cidrs := raw.Spec.PodCIDRs
	if len(cidrs) == 0 && raw.Spec.PodCIDR != "" { // before Kubernetes 1.16 there was only this field
		cidrs = []string{raw.Spec.PodCIDR}
	}
	for _, text := range cidrs {
		_, cidr, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			return n,
				fmt.Errorf("read the pod CIDRs of Node %s: %w: whoever set spec.podCIDRs must mend it", meta.Name, err)
		}
		addr, _ := netip.AddrFromSlice(cidr.IP)
		bits, _ := cidr.Mask.Size()
		n.PodCIDRs = append(n.PodCIDRs, netip.PrefixFrom(addr, bits))
	}
	for _, a := range raw.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" {
			n.Addresses = append(n.Addresses, addr.Unmap())
		}
	}
	return n, nil
}

// Cordon makes a Node unschedulable, and records in an annotation that the agent did so and why. It
// changes nothing if the Node is unschedulable already. It may be called again.
func (c *Client) Cordon(ctx context.Context, name, why string) error {
	return c.mark(ctx, name, func(n *Node) map[string]any {
		if n.Unschedulable {
			return nil
		}
		return map[string]any{"spec": map[string]any{"unschedulable": true},
			"metadata": map[string]any{"annotations": map[string]any{cordonAnnotation: why}}}
	})
}

// Uncordon makes a Node schedulable that [Client.Cordon] made unschedulable. It does not change any
// other Node. It may be called again.
func (c *Client) Uncordon(ctx context.Context, name string) error {
	return c.mark(ctx, name, func(n *Node) map[string]any {
		if n.CordonedBy == "" {
			return nil
		}
		return map[string]any{"spec": map[string]any{"unschedulable": nil},
			"metadata": map[string]any{"annotations": map[string]any{cordonAnnotation: nil}}}
	})
}

// mark reads a Node and patches it. After a conflict it does so again, because kubelet often writes
// to its Node.
func (c *Client) mark(ctx context.Context, name string, change func(*Node) map[string]any) error {
	const attempts = 5
	for n := 1; ; n++ {
		node, err := c.Node(ctx, name)
		if err != nil {
			return err
		}
		patch := change(node)
		if patch == nil {
			return nil
		}
		patch["metadata"].(map[string]any)["resourceVersion"] = node.Version
		err = c.do(ctx, patchNode(name), patch, nil)
		if !errors.Is(err, ErrConflict) || n == attempts {
			return err
		}
	}
}
