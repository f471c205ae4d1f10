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

// Node is what a node's network needs to know of a Node object.
type Node struct {
	Name              string
	PodCIDRs          []netip.Prefix // that the controller manager gave it; none: not yet, or it gives none
	Addresses         []netip.Addr   // by which other nodes reach it (InternalIP)
	Unschedulable     bool
	CordonedBy        string // why we made it so, "" if we did not
	Requests, Answers string // what it asks of its peers, and answers to them: see pkg/inbound
	Version           string // resourceVersion
	Made              time.Time
}

// Annotations by which a Node asks its peers to knock on its ports, and answers those who ask it.
const (
	RequestsAnnotation = "netwright.dev/inbound-asks"
	AnswersAnnotation  = "netwright.dev/inbound-answers"
)

// AppliedAnnotation says on a Node which generation is applied there, as a number.
const AppliedAnnotation = "netwright.dev/applied-generation"

// cordonAnnotation says on a Node that netwright made it unschedulable, and why. Who takes it away
// takes the matter over: then nothing is undone.
const cordonAnnotation = "netwright.dev/cordoned"

// Node reads one Node. A kubelet may read its own, since Kubernetes 1.32 that one alone.
func (c *Client) Node(ctx context.Context, name string) (*Node, error) {
	var raw nodeObject
	if err := c.do(ctx, apiRequest{verb: "get", resource: "nodes", name: name}, nil, &raw); err != nil {
		return nil, err
	}
	n, err := nodeOf(&raw)
	return &n, err
}

// Nodes reads all Nodes, and the version of the list, from which [Client.NodesChanged] goes on. A
// kubelet may not from Kubernetes 1.32 on (KEP-4601), so it takes a ServiceAccount of our own.
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

// NodeNames are the names of all Nodes, at the cost of their metadata alone. Who may read them is
// as with [Client.Nodes].
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

// list reads a list page by page, of what has these labels ("": all), in a form ("": the client's),
// and returns its version. A page that is larger than an answer may be is asked for again with
// fewer objects.
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

// Annotate sets an annotation of a Node, or takes it away with "". A kubelet may do so with its own
// Node. It may be retried.
func (c *Client) Annotate(ctx context.Context, name, key, value string) error {
	text := &value
	if value == "" {
		text = nil
	}
	return c.do(ctx, patchNode(name),
		map[string]any{"metadata": map[string]any{"annotations": map[string]*string{key: text}}}, nil)
}

// Registered is what distinguishes a Node from another one of the same name that is registered
// later. It costs an answer of the Node's metadata, from the server's cache.
func (c *Client) Registered(ctx context.Context, name string) (uid string, err error) {
	var into partialObject
	w := apiRequest{verb: "get", resource: "nodes", name: name}
	err = c.send(ctx, w, c.to(w).VersionedParams(&metav1.GetOptions{ResourceVersion: "0"},
		metav1.ParameterCodec).SetHeader("Accept", onlyMetadata), &into)
	return into.Metadata.UID, err
}

// nodeOf takes from a Node what we read of it. The API validates pod CIDRs, and they are read as it
// reads them: without the feature gate StrictIPCIDRValidation it takes leading zeros, of a kubelet
// too. What is no address there is not one for us.
func nodeOf(raw *nodeObject) (Node, error) {
	meta := &raw.Metadata
	n := Node{
		Name: meta.Name, Unschedulable: raw.Spec.Unschedulable, CordonedBy: meta.Annotations[cordonAnnotation],
		Version: meta.ResourceVersion, Made: meta.CreationTimestamp.UTC(),
		Requests: meta.Annotations[RequestsAnnotation], Answers: meta.Annotations[AnswersAnnotation],
	}
	cidrs := raw.Spec.PodCIDRs
	if len(cidrs) == 0 && raw.Spec.PodCIDR != "" { // before Kubernetes 1.16 there was but the one
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

// Cordon makes a Node unschedulable and notes on it that it was us, and why. Of one that is
// unschedulable already nothing is changed. It reports whether the Node is cordoned by us now. It
// may be called again.
func (c *Client) Cordon(ctx context.Context, name, why string) (ours bool, err error) {
	err = c.mark(ctx, name, func(n *Node) map[string]any {
		if ours = n.CordonedBy != "" && n.Unschedulable; n.Unschedulable {
			return nil
		}
		ours = true
		return map[string]any{"spec": map[string]any{"unschedulable": true},
			"metadata": map[string]any{"annotations": map[string]any{cordonAnnotation: why}}}
	})
	return ours && err == nil, err
}

// Uncordon makes a Node schedulable that [Client.Cordon] made unschedulable, and leaves every other
// as it is. It may be called again.
func (c *Client) Uncordon(ctx context.Context, name string) error {
	return c.mark(ctx, name, func(n *Node) map[string]any {
		if n.CordonedBy == "" {
			return nil
		}
		return map[string]any{"spec": map[string]any{"unschedulable": nil},
			"metadata": map[string]any{"annotations": map[string]any{cordonAnnotation: nil}}}
	})
}

// mark changes a Node as it was read, and reads it again where somebody was quicker: its kubelet
// writes to it all the time.
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
