package talos

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	stdx509 "crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
)

// Certificates is what both sides make certificates of, and those that ours has made.
type Certificates struct {
	Now    time.Time         `json:"now"`
	Issued []CertificateCase `json:"issued"`
	Ours   map[string]Pair   `json:"ours"`
}

// CertificateCase is one certificate: what it is, by `kind`, and of whom.
type CertificateCase struct {
	ID            string   `json:"id"`
	Kind          string   `json:"kind"`
	CommonName    string   `json:"commonName"`
	Organizations []string `json:"organizations"`
	DNS           []string `json:"dns"`
	Addresses     []string `json:"addresses"`
	Hours         int      `json:"hours"`
}

// Pair is a certificate, its key, and the authority that signed it, PEM.
type Pair struct {
	CA  string `json:"ca,omitempty"`
	Crt string `json:"crt"`
	Key string `json:"key"`
}

// Profile is what counts of a certificate; keys, serial numbers and signatures are others each time.
type Profile struct {
	Organizations    []string `json:"organizations"`
	CommonName       string   `json:"commonName"`
	Names            []string `json:"names"`
	KeyUsage         string   `json:"keyUsage"`
	ExtKeyUsage      []string `json:"extKeyUsage"`
	Authority        bool     `json:"authority"`
	Hours            float64  `json:"hours"`
	BackdatedSeconds int      `json:"backdatedSeconds"`
	PublicKey        string   `json:"publicKey"`
	KeyLabel         string   `json:"keyLabel"`
	Signature        string   `json:"signature"`
	AuthorityKeyID   string   `json:"authorityKeyId"`
	// Verified is "yes", or why Go refuses the certificate or its key.
	Verified string `json:"verified"`
}

// CertificateAnswers are the profiles of Talos's certificates and of ours, as Go reads both.
type CertificateAnswers struct {
	Talos map[string]Profile `json:"talos"`
	Ours  map[string]Profile `json:"ours"`
}

// Authority is one that Go made, and a leaf of it.
type Authority struct {
	Pair
	Leaf Pair `json:"leaf"`
}

func certificates(cases Certificates, bundle *secrets.Bundle, contract *config.VersionContract) (CertificateAnswers, error) {
	answers := CertificateAnswers{Talos: map[string]Profile{}, Ours: map[string]Profile{}}

	for _, one := range cases.Issued {
		pair, err := issued(one, cases.Now, bundle, contract)
		if err != nil {
			return answers, fmt.Errorf("%s: %w", one.ID, err)
		}

		if answers.Talos[one.ID], err = profile(pair, cases.Now); err != nil {
			return answers, fmt.Errorf("%s: %w", one.ID, err)
		}
	}

	for id, pair := range cases.Ours {
		var err error

		if answers.Ours[id], err = profile(pair, cases.Now); err != nil {
			return answers, fmt.Errorf("%s: %w", id, err)
		}
	}

	return answers, nil
}

// issued makes a certificate as Talos makes one of its kind.
func issued(one CertificateCase, now time.Time, bundle *secrets.Bundle, contract *config.VersionContract) (Pair, error) {
	authority := func(ca *x509.CertificateAuthority, err error) (Pair, error) {
		if err != nil {
			return Pair{}, err
		}

		return Pair{CA: string(ca.CrtPEM), Crt: string(ca.CrtPEM), Key: string(ca.KeyPEM)}, nil
	}
	lifetime := time.Duration(one.Hours) * time.Hour

	switch one.Kind {
	case "os":
		return authority(secrets.NewTalosCA(now))
	case "etcd":
		return authority(secrets.NewEtcdCA(now, contract))
	case "k8s":
		return authority(secrets.NewKubernetesCA(now, contract))
	case "k8sAggregator":
		return authority(secrets.NewAggregatorCA(now, contract))
	case "talosconfig":
		roles, _ := role.Parse(one.Organizations)

		pair, err := secrets.NewAdminCertificateAndKey(now, bundle.Certs.OS, roles, lifetime)
		if err != nil {
			return Pair{}, err
		}

		return Pair{CA: string(bundle.Certs.OS.Crt), Crt: string(pair.Crt), Key: string(pair.Key)}, nil
	case "kubeconfig":
		// pkg/kubeconfig/generate.go, which no published module has.
		return signed(bundle.Certs.K8s,
			x509.CommonName(one.CommonName),
			x509.Organization(one.Organizations...),
			x509.NotBefore(now.Add(-10*time.Second)),
			x509.NotAfter(now.Add(lifetime)),
			x509.KeyUsage(stdx509.KeyUsageDigitalSignature|stdx509.KeyUsageKeyEncipherment),
			x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageClientAuth}),
		)
	case "apid":
		addresses := make([]net.IP, 0, len(one.Addresses))
		for _, address := range one.Addresses {
			addresses = append(addresses, net.ParseIP(address))
		}

		// internal/app/machined/pkg/controllers/secrets/api.go.
		return signed(bundle.Certs.OS,
			x509.IPAddresses(addresses),
			x509.DNSNames(one.DNS),
			x509.CommonName(one.CommonName),
			x509.NotBefore(now),
			x509.NotAfter(now.Add(lifetime)),
			x509.KeyUsage(stdx509.KeyUsageDigitalSignature),
			x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}),
		)
	default:
		return Pair{}, fmt.Errorf("unknown kind %q", one.Kind)
	}
}

func signed(pair *x509.PEMEncodedCertificateAndKey, options ...x509.Option) (Pair, error) {
	ca, err := x509.NewCertificateAuthorityFromCertificateAndKey(pair)
	if err != nil {
		return Pair{}, err
	}

	leaf, err := x509.NewKeyPair(ca, options...)
	if err != nil {
		return Pair{}, err
	}

	return Pair{CA: string(pair.Crt), Crt: string(leaf.CrtPEM), Key: string(leaf.KeyPEM)}, nil
}

func parse(text string) (*stdx509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, fmt.Errorf("no PEM text")
	}

	return stdx509.ParseCertificate(block.Bytes)
}

var usages = map[stdx509.KeyUsage]string{
	stdx509.KeyUsageDigitalSignature:                                   "digitalSignature",
	stdx509.KeyUsageDigitalSignature | stdx509.KeyUsageKeyEncipherment: "digitalSignature, keyEncipherment",
	stdx509.KeyUsageDigitalSignature | stdx509.KeyUsageCertSign:        "digitalSignature, keyCertSign",
}

func profile(pair Pair, now time.Time) (Profile, error) {
	crt, err := parse(pair.Crt)
	if err != nil {
		return Profile{}, err
	}

	ca, err := parse(pair.CA)
	if err != nil {
		return Profile{}, err
	}

	key, _ := pem.Decode([]byte(pair.Key))
	if key == nil {
		return Profile{}, fmt.Errorf("the key is no PEM text")
	}

	result := Profile{
		Organizations:    append([]string{}, crt.Subject.Organization...),
		CommonName:       crt.Subject.CommonName,
		Names:            append([]string{}, crt.DNSNames...),
		KeyUsage:         usages[crt.KeyUsage],
		ExtKeyUsage:      []string{},
		Authority:        crt.IsCA,
		Hours:            crt.NotAfter.Sub(now).Hours(),
		BackdatedSeconds: int(now.Sub(crt.NotBefore).Seconds()),
		PublicKey:        crt.PublicKeyAlgorithm.String(),
		KeyLabel:         key.Type,
		Signature:        crt.SignatureAlgorithm.String(),
		AuthorityKeyID:   "of the authority",
		Verified:         verified(pair, crt, ca, now),
	}

	for _, address := range crt.IPAddresses {
		result.Names = append(result.Names, address.String())
	}

	for _, usage := range crt.ExtKeyUsage {
		result.ExtKeyUsage = append(result.ExtKeyUsage, map[stdx509.ExtKeyUsage]string{
			stdx509.ExtKeyUsageServerAuth: "serverAuth", stdx509.ExtKeyUsageClientAuth: "clientAuth",
		}[usage])
	}

	switch {
	case len(crt.AuthorityKeyId) == 0:
		result.AuthorityKeyID = "none"
	case !bytes.Equal(crt.AuthorityKeyId, ca.SubjectKeyId):
		result.AuthorityKeyID = "of another"
	}

	switch public := crt.PublicKey.(type) {
	case *ecdsa.PublicKey:
		result.PublicKey += " " + public.Curve.Params().Name
	case *rsa.PublicKey:
		result.PublicKey += fmt.Sprintf(" %d", public.Size()*8)
	case ed25519.PublicKey:
	}

	return result, nil
}

// verified says whether Go's x509 takes the certificate for what it is for, and Talos's code its key.
func verified(pair Pair, crt, ca *stdx509.Certificate, now time.Time) string {
	roots := stdx509.NewCertPool()
	roots.AddCert(ca)

	if _, err := crt.Verify(stdx509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: crt.ExtKeyUsage}); err != nil {
		return err.Error()
	}

	if crt.IsCA {
		_, err := x509.NewCertificateAuthorityFromCertificateAndKey(&x509.PEMEncodedCertificateAndKey{Crt: []byte(pair.Crt), Key: []byte(pair.Key)})
		if err != nil {
			return err.Error()
		}
	}

	if _, err := tls.X509KeyPair([]byte(pair.Crt), []byte(pair.Key)); err != nil {
		return err.Error()
	}

	return "yes"
}

// authorities makes one of each kind that Go code makes, with a leaf: Talos's, whose key ids are random, and one of Go's standard library, whose key id is a SHA-256.
func authorities(now time.Time, contract *config.VersionContract) (map[string]Authority, error) {
	result := map[string]Authority{}

	for _, kind := range []string{"os", "etcd", "k8s"} {
		pair, err := issued(CertificateCase{Kind: kind}, now, nil, contract)
		if err != nil {
			return nil, err
		}

		if result["talos "+kind], err = withLeaf(pair, now); err != nil {
			return nil, err
		}
	}

	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}

	template := &stdx509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{Organization: []string{"talos"}},
		NotBefore:             now,
		NotAfter:              now.AddDate(10, 0, 0),
		KeyUsage:              stdx509.KeyUsageCertSign | stdx509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}

	der, err := stdx509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, err
	}

	pkcs8, err := stdx509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}

	result["crypto/x509"], err = withLeaf(Pair{
		Crt: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key: string(pem.EncodeToMemory(&pem.Block{Type: "ED25519 PRIVATE KEY", Bytes: pkcs8})),
	}, now)

	return result, err
}

func withLeaf(pair Pair, now time.Time) (Authority, error) {
	leaf, err := signed(&x509.PEMEncodedCertificateAndKey{Crt: []byte(pair.Crt), Key: []byte(pair.Key)},
		x509.IPAddresses([]net.IP{net.IPv4(10, 0, 0, 1)}),
		x509.DNSNames([]string{"node-1"}),
		x509.CommonName("node-1"),
		x509.NotBefore(now),
		x509.NotAfter(now.AddDate(9, 0, 0)),
		x509.ExtKeyUsage([]stdx509.ExtKeyUsage{stdx509.ExtKeyUsageServerAuth}),
	)

	return Authority{Pair: Pair{Crt: pair.Crt, Key: pair.Key}, Leaf: Pair{Crt: leaf.Crt, Key: leaf.Key}}, err
}
