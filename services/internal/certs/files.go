package certs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quartet-commerce/quartet/services/internal/mtls"
	"github.com/quartet-commerce/quartet/services/internal/reload"
)

// The CA's folder and the file of its private key. Its certificates are in mtls.CAFile.
const (
	CAFolder  = "ca"
	CAKeyFile = "ca.key"
)

// File is a file of a Folder.
type File struct {
	Name    string
	Content []byte
	Private bool // readable by its owner alone
}

// Folder is a set of files that one process reads: a folder on disk, or a Secret in Kubernetes.
type Folder struct {
	Name   string
	Files  []File
	Secret string // the name of the Secret; empty for a folder that stays on disk
	Type   string // the type of the Secret, such as SecretTLS
}

// SecretTLS is the type of a Secret with a certificate and its key.
const SecretTLS = "kubernetes.io/tls"

// Role makes the folder of a role: a new leaf, and the CA's certificates.
func (ca *CA) Role(l Leaf) (Folder, error) {
	cert, key, err := ca.Issue(l)
	if err != nil {
		return Folder{}, err
	}
	trusted, _, err := ca.PEM()
	return Folder{Name: l.Role, Secret: "quartet-" + l.Role + "-tls", Type: SecretTLS, Files: []File{
		{Name: mtls.CAFile, Content: trusted},
		{Name: mtls.KeyFile, Content: key, Private: true},
		{Name: mtls.CertFile, Content: cert},
	}}, err
}

// Folder is the CA's own folder. It is no Secret: whoever has it can be any role.
func (ca *CA) Folder() (Folder, error) {
	trusted, key, err := ca.PEM()
	return Folder{Name: CAFolder, Files: []File{
		{Name: CAKeyFile, Content: key, Private: true},
		{Name: mtls.CAFile, Content: trusted},
	}}, err
}

// ReadCA reads the CA of a folder that Write made. It returns nil if there is none.
func ReadCA(dir string) (*CA, error) {
	folder := filepath.Join(dir, CAFolder)
	key, keyErr := os.ReadFile(filepath.Join(folder, CAKeyFile))
	trusted, err := os.ReadFile(filepath.Join(folder, mtls.CAFile))
	if errors.Is(keyErr, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := errors.Join(keyErr, err); err != nil {
		return nil, err
	}
	ca, err := ParseCA(trusted, key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return ca, nil
}

// Write writes folders into dir. Each file is replaced at once, so that no reader sees a half.
func Write(dir string, folders []Folder) error {
	for _, folder := range folders {
		path := filepath.Join(dir, folder.Name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		for _, file := range folder.Files {
			mode := fs.FileMode(0o644)
			if file.Private {
				mode = 0o600
			}
			if err := reload.Replace(filepath.Join(path, file.Name), file.Content, mode); err != nil {
				return err
			}
		}
	}
	return nil
}

type (
	secretList struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Items      []secret `json:"items"`
	}
	secret struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   metadata          `json:"metadata"`
		Type       string            `json:"type,omitempty"`
		Data       map[string][]byte `json:"data"` // in base64
	}
	metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	}
)

// WriteSecrets writes the Secrets of folders as one list for 'kubectl apply -f -'.
func WriteSecrets(w io.Writer, namespace string, folders []Folder) error {
	list := secretList{APIVersion: "v1", Kind: "List"}
	for _, folder := range folders {
		if folder.Secret == "" {
			continue
		}
		data := make(map[string][]byte)
		for _, file := range folder.Files {
			data[file.Name] = file.Content
		}
		list.Items = append(list.Items, secret{
			APIVersion: "v1", Kind: "Secret", Type: folder.Type, Data: data,
			Metadata: metadata{Name: folder.Secret, Namespace: namespace, Labels: map[string]string{"app.kubernetes.io/name": "quartet"}},
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(list)
}
