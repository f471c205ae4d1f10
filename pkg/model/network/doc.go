// Package network has the networks that Netwright knows: one [Network] value for each, in its own
// file. [All] lists them.
//
// A network is mostly data: who writes its CNI conf, which plugins, modules and sysctls it needs,
// what other services of the machine must leave alone, and what it leaves behind. Its Build
// function does what data cannot express. Build is pure: the same input gives the same tasks, and
// it knows only those facts of the host that its input has.
//
// The package does not order the tasks of a node and adds no tasks that all networks share. Package
// model does both.
//
// # Files
//
//   - a row, its input, the list of rows, and parts that rows share: network, input, all,
//     row_helpers
//   - the releases of a network, and what differs from kOps: lifecycle*, untestable, disagreements
//   - the text of a CNI conf, and which program reads it: conflist, conf_reader
//   - what a network needs from the store and the API: client_certificates, keypairs, podcidrs
//   - parts that networks add to a node: mtu, masquerade, bridge_routes, aws_route_table,
//     eni_max_pods
//   - kernels and programs beside a network: redhat_kernels, openvswitch, kubeproxy,
//     describe_requirements
//   - what changes between two networks or two modes: dataplane_modes, network_switch, preparation
//   - what networks leave, and selectors that match too much: *_residue, dangerous_selectors
//   - one network each: *
package network
