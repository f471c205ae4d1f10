package network

// gcp returns the row of kubenet's conf_template in Google's cloud, whose network routes the pods'
// alias addresses. Source: docs/networking/gcp.md of kOps.
func gcp() Network {
	n := kubenet()
	n.Title = "containerd's conf_template; pods have alias addresses that Google's network routes"
	n.Docs = "https://kops.sigs.k8s.io/networking/#kubenet-default"
	n.Lifecycle = Lifecycle{Stages: []Stage{{Level: Stable}}, First: version(1, 2)}
	n.MTU = "the smallest MTU of the links that are up (1460 in a VPC, up to 8896): without it pods would have 1500 " +
		"and depend on path MTU discovery"
	n.Requires = Requires{Clouds: []string{"gce", "gcp"}, Why: "only Google's network routes alias addresses",
		Source: "https://cloud.google.com/vpc/docs/alias-ip"}
	n.SharedHost = ownLinks("veth*")
	n.SharedHost.Aliases = true
	n.Residue.Others = []string{"alias ranges on the node's interface (`gcloud compute instances describe`)"}
	n.TestedBy = []Proof{{"pods of two nodes reach each other with the conf that containerd renders and the real " +
		"plugins, over routes of the cloud's router to the nodes, and a host outside by the node's address",
		"test/e2e TestPodsTalkByAliases"}}
	n.Untested = "that Google's network routes alias ranges, and what its guest agent does with them: no test " +
		"runs there, so both come from documents and source code only"
	n.Build = buildGCP
	return n
}

func buildGCP(in Input, b *Built) error {
	return b.addTemplate(in, 0)
}
