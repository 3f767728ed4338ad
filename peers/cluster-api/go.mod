// Cluster API itself: its CRD files and the words in its source are what ours are compared with.
// Only downloaded, never built; `go mod tidy` would drop the requirements, so do not run it here.
module refit.dev/peers/cluster-api

go 1.26

require (
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/cluster-api/api v1.14.2
)
