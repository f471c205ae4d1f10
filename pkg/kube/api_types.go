package kube

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API's objects in JSON, with only the fields that the agent reads or writes. Package
// k8s.io/api has all fields of all kinds, and protobuf for each, which is a tenth of the program.
// https://kubernetes.io/docs/reference/kubernetes-api/

var (
	coreVersion         = schema.GroupVersion{Version: "v1"}
	certificatesVersion = schema.GroupVersion{Group: "certificates.k8s.io", Version: "v1"}
)

type objectMeta struct {
	Name              string            `json:"name,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	CreationTimestamp metav1.Time       `json:"creationTimestamp,omitzero"`
	ManagedFields     []struct {
		Time metav1.Time `json:"time,omitzero"`
	} `json:"managedFields,omitempty"`
}

// changed returns when an object was last written. The server records the time of each writer.
func (m *objectMeta) changed() metav1.Time {
	last := m.CreationTimestamp
	for _, by := range m.ManagedFields {
		if by.Time.After(last.Time) {
			last = by.Time
		}
	}
	return last
}

// onlyMetadata requests only the metadata of an object: a partialObject.
const onlyMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// partialObject has the fields that every object has.
type partialObject struct {
	Metadata objectMeta `json:"metadata"`
}

// listOf is one page of a list.
type listOf[T any] struct {
	Metadata listMeta `json:"metadata"`
	Items    []T      `json:"items"`
}

type listMeta struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// nodeObject is a Node. Of an object of another kind it reads the metadata.
type nodeObject struct {
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		PodCIDR       string   `json:"podCIDR"`
		PodCIDRs      []string `json:"podCIDRs"`
		Unschedulable bool     `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Conditions []nodeCondition `json:"conditions"`
		Addresses  []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
	} `json:"status"`
}

type nodeCondition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastHeartbeatTime  metav1.Time `json:"lastHeartbeatTime"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	Reason             string      `json:"reason"`
	Message            string      `json:"message"`
}

type configMapObject struct {
	metav1.TypeMeta
	Metadata   objectMeta        `json:"metadata"`
	Immutable  bool              `json:"immutable,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	BinaryData map[string][]byte `json:"binaryData,omitempty"`
}

type secretObject struct {
	metav1.TypeMeta
	Metadata  objectMeta        `json:"metadata"`
	Immutable bool              `json:"immutable,omitempty"`
	Type      string            `json:"type,omitempty"`
	Data      map[string][]byte `json:"data,omitempty"`
}

type eventObject struct {
	metav1.TypeMeta
	Metadata            objectMeta        `json:"metadata"`
	InvolvedObject      map[string]string `json:"involvedObject"`
	Reason              string            `json:"reason"`
	Message             string            `json:"message"`
	Source              map[string]string `json:"source"`
	FirstTimestamp      metav1.Time       `json:"firstTimestamp"`
	LastTimestamp       metav1.Time       `json:"lastTimestamp"`
	Count               int               `json:"count"`
	Type                string            `json:"type"`
	ReportingController string            `json:"reportingComponent"`
	ReportingInstance   string            `json:"reportingInstance"`
}

type signingRequestObject struct {
	metav1.TypeMeta
	Metadata objectMeta `json:"metadata"`
	Spec     struct {
		Request           []byte   `json:"request"`
		SignerName        string   `json:"signerName"`
		ExpirationSeconds int32    `json:"expirationSeconds,omitempty"`
		Usages            []string `json:"usages"`
	} `json:"spec"`
	Status struct {
		Certificate []byte `json:"certificate,omitempty"`
		Conditions  []struct {
			Type    string `json:"type"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}
