package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	if err := c.do(ctx, apiRequest{verb: "get", resource: "nodes", name: name}, c.core.Get().Resource("nodes").Name(name),
		&raw); err != nil {
		return nil, err
	}
	n, err := nodeOf(&raw)
	return &n, err
}

// Nodes reads all Nodes, and the version of the list, from which [Client.NodesChanged] goes on. A
// kubelet may not from Kubernetes 1.32 on (KEP-4601), so it takes a ServiceAccount of our own.
func (c *Client) Nodes(ctx context.Context) (nodes []Node, version string, err error) {
	var page listOf[nodeObject]
	err = c.pages(ctx, listNodes, "", "", func() (any, *listMeta) {
		page = listOf[nodeObject]{}
		return &page, &page.Metadata
	}, func() error {
		for i := range page.Items {
			n, err := nodeOf(&page.Items[i])
			if err != nil {
				return err
			}
			nodes = append(nodes, n)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return nodes, page.Metadata.ResourceVersion, nil
}

// NodeNames are the names of all Nodes, at the cost of their metadata alone. Who may read them is
// as with [Client.Nodes].
func (c *Client) NodeNames(ctx context.Context) (names []string, err error) {
	const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	var page listOf[partialObject]
	err = c.pages(ctx, listNodes, "", metadata, func() (any, *listMeta) {
		page = listOf[partialObject]{}
		return &page, &page.Metadata
	}, func() error {
		for i := range page.Items {
			names = append(names, page.Items[i].Metadata.Name)
		}
		return nil
	})
	return names, err
}

var listNodes = apiRequest{verb: "list", resource: "nodes"}

// pages reads a list page by page, of what has these labels ("": all), in a form ("": the
// client's). A page that is larger than an answer may be is asked for again with fewer objects.
func (c *Client) pages(
	ctx context.Context, w apiRequest, labels, form string, page func() (any, *listMeta), take func() error,
) error {
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: labels}
	for {
		request := c.core.Get().NamespaceIfScoped(w.namespace,
			w.namespace != "").Resource(w.resource).VersionedParams(&options, metav1.ParameterCodec)
		if form != "" {
			request = request.SetHeader("Accept", form)
		}
		into, meta := page()
		switch err := c.do(ctx, w, request, into); {
		case tooLarge(err) && options.Limit > 1:
			options.Limit = max(1, options.Limit/4)
			continue
		case err != nil:
			return err
		}
		if err := take(); err != nil {
			return err
		}
		if options.Continue = meta.Continue; options.Continue == "" {
			return nil
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
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{key: text}}})
	if err != nil {
		return fmt.Errorf("write the annotation %s of Node %s: %w", key, name, err)
	}
	return c.do(ctx, apiRequest{verb: "patch", resource: "nodes", name: name},
		c.core.Patch(types.MergePatchType).Resource("nodes").Name(name).Body(body), nil)
}

// Registered is what tells one Node from another one of the same name that is registered later. It
// costs an answer of the Node's metadata, from the server's cache.
func (c *Client) Registered(ctx context.Context, name string) (uid string, err error) {
	var into partialObject
	request := c.core.Get().Resource("nodes").Name(name).VersionedParams(&metav1.GetOptions{ResourceVersion: "0"},
		metav1.ParameterCodec).SetHeader("Accept", onlyMetadata)
	err = c.do(ctx, apiRequest{verb: "get", resource: "nodes", name: name}, request, &into)
	return into.Metadata.UID, err
}

// nodeOf takes from a Node what we read of it. The API validates pod CIDRs; what is no address
// there is not one for us.
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
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			return n,
				fmt.Errorf("read the pod CIDRs of Node %s: %w: whoever set spec.podCIDRs must mend it", meta.Name, err)
		}
		n.PodCIDRs = append(n.PodCIDRs, cidr.Masked())
	}
	for _, a := range raw.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" {
			n.Addresses = append(n.Addresses, addr.Unmap())
		}
	}
	return n, nil
}

// Cordon makes a Node unschedulable and notes on it that it was us, and why. Of one that is
// unschedulable already nothing is changed. It tells whether the Node is cordoned by us now. It may
// be called again.
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
		body, err := json.Marshal(patch)
		if err != nil {
			return fmt.Errorf("write the change of Node %s: %w", name, err)
		}
		err = c.do(ctx, apiRequest{verb: "patch", resource: "nodes", name: name},
			c.core.Patch(types.MergePatchType).Resource("nodes").Name(name).Body(body), nil)
		if !isConflict(err) || n == attempts {
			return err
		}
	}
}
