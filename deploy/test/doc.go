// Package deploy tests what deploys Quartet: the Kubernetes manifests and the Dockerfile. It has no code of its own. It is a
// module of its own so that the services do not depend on Kubernetes' packages.
package deploy
