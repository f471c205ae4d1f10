// Package config turns the documents of a state store into the configuration of one node.
//
// Documents have kOps' form: their kinds are Cluster, NodeGroup and Node. They are decoded strictly
// and merged in the order cluster → node group → node. For each field the last document that sets
// it wins. Then defaults are filled in and the result is validated. Each value keeps the document
// and line that it came from. Each diagnostic shows that line with a caret, what was expected, and
// the nearest valid name.
//
// The package is pure: it reads no file, looks at no host, and keeps no state. It does not know
// which Kubernetes release removed which kubelet flag, nor what a network needs. pkg/model knows
// that.
//
// # Files
//
//   - the documents of one node: load*, document_header, bridge_peers, cluster_size, kops_nodeup
//   - the fields of a node, and their defaults: spec*, node*, aws, defaults
//   - what no single field shows: valid*
//   - what a person reads about a mistake and about a field: mistake_hints, manual_fields
package config
