package problem

// The errors of the store.
const (
	Store            ID = "store"
	StoreLocation    ID = "store-location"
	StoreMissing     ID = "store-missing"
	StoreAccess      ID = "store-access"
	StoreUnreachable ID = "store-unreachable"
	StoreBounds      ID = "store-bounds"
	StoreDamaged     ID = "store-damaged"
	StoreManifest    ID = "store-manifest"
	StorePublish     ID = "store-publish"
	StorePrune       ID = "store-prune"
)

var stores = []Row{
	{ID: Store, Means: "The state store cannot be read or written.",
		Do:   "Do what the message says. A node goes on with the last configuration that it took.",
		Page: "state-store.md"},
	{ID: StoreLocation, Means: "The value of `store` or `--store` is not a store.",
		Do:   "Write a directory, `https://host/path`, `s3://bucket/prefix` or `k8s://NAMESPACE`.",
		Page: "state-store.md"},
	{ID: StoreMissing, Means: "There is no store in that place, or it has no cluster of that name.",
		Do: "Correct the path or the name of the cluster, or publish there.", Page: "state-store.md"},
	{ID: StoreAccess, Means: "The agent has no permission to read or write the store.",
		Do: "Give the permissions that the page lists.", Page: "iam.md"},
	{ID: StoreUnreachable, Means: "The server of the store does not answer, or not in time.",
		Do: "Check the name, the route and the server. The agent tries again by itself.", Page: "operations.md"},
	{ID: StoreBounds, Means: "The store has more objects than a node accepts, or larger ones.",
		Do: "Take out what is too much; large files belong below `assets/`.", Page: "state-store.md"},
	{ID: StoreDamaged, Means: "An object is not what the manifest says: another size, another hash, or it is not " +
		"there.", Do: "Publish again: that puts back what is damaged. Find out who wrote there.",
		Page: "state-store.md"},
	{ID: StoreManifest, Means: "The manifest of the store cannot be read, or is of another cluster.",
		Do:   "Publish again from the documents, with an agent of this release or an earlier one.",
		Page: "state-store.md"},
	{ID: StorePublish, Means: "The publication was not made; nodes see what was there before.",
		Do: "Do what the message says, and publish again.", Page: "state-store.md"},
	{ID: StorePrune,
		Means: "Nothing was removed, because nodes may still read the objects, or because another publisher " +
			"may be at work.", Do: "Do what the message says.", Page: "state-store.md"},
}
