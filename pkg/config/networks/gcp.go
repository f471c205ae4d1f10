package networks

// GCP is kOps' gcp (gce in v1alpha2): alias addresses that the cloud routes; it has no fields there
// either.
type GCP struct{}
