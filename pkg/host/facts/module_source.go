package facts

// ModuleSource says, for an error message, how to get a missing module of a kernel release: the
// package of the distribution that has it.
func ModuleSource(os OSRelease, release string) string {
	for _, id := range append([]string{os.ID}, os.IDLike...) {
		switch id {
		case "flatcar", "coreos", "bottlerocket", "cos": // read-only root
			return "boot a release of " + id + " whose kernel has it"
		case "rhel", "centos", "fedora", "rocky", "almalinux", "ol":
			return "install kernel-modules-extra-" + release
		case "amzn":
			return "install kernel-modules-extra of kernel " + release
		case "ubuntu":
			return "install linux-modules-extra-" + release
		case "debian":
			return "install linux-image-" + release + " (the -cloud- kernels leave modules out: use the one without)"
		case "suse", "opensuse", "sles":
			return "install kernel-default in the version of " + release
		}
	}
	return "install the package of kernel " + release + " that has it"
}
