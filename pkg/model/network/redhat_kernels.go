package network

// Red Hat puts into its kernel 4.18 what much newer ones have: upstream's requirements name its
// releases beside a version of Linux. By the number of a build it is told which release it is of.
// https://access.redhat.com/articles/3078
var redHatBuilds = map[string][]string{
	"8.0":  {"4.18.0-*.el8*"},
	"8.2":  {"4.18.0-19[3-9].*el8*", "4.18.0-[2-9][0-9][0-9].*el8*"},
	"8.4":  {"4.18.0-30[5-9].*el8*", "4.18.0-3[1-9][0-9].*el8*", "4.18.0-[4-9][0-9][0-9].*el8*"},
	"8.6":  {"4.18.0-37[2-9].*el8*", "4.18.0-3[89][0-9].*el8*", "4.18.0-[4-9][0-9][0-9].*el8*"},
	"8.10": {"4.18.0-55[3-9].*el8*", "4.18.0-5[6-9][0-9].*el8*"},
}

// orRedHat takes the kernel of a release of Red Hat's, and of later ones, for as good.
func (r Requires) orRedHat(release string) Requires {
	r.Backports, r.Backported = redHatBuilds[release], "4.18 of RHEL "+release
	return r
}
