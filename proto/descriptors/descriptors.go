// Package descriptors has the contracts with their comments, which generated code leaves out.
package descriptors

import (
	_ "embed"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

//go:embed quartet.binpb
var set []byte // 'make generate' writes it

// Files returns the files of the contracts, and of those that they import.
func Files() (*protoregistry.Files, error) {
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &files); err != nil {
		return nil, fmt.Errorf("descriptors: %w", err)
	}
	return protodesc.NewFiles(&files)
}
