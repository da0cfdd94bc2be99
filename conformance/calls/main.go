// Command calls is a server of the kind that Talos has: grpc-go with Talos's window sizes, its machine service and its resource state.
// It prints one line of JSON, {"port", "certificate"}, and serves on 127.0.0.1 until its standard input ends.
package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	cosi "github.com/cosi-project/runtime/pkg/state/protobuf/server"
	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/resources/network"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/emptypb"
)

// logLines and links are how much the two streams carry: more than one piece each.
const (
	logLines = 200
	links    = 50
)

type machineServer struct {
	machine.UnimplementedMachineServiceServer
}

func (machineServer) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return &machine.VersionResponse{Messages: []*machine.Version{{Version: &machine.VersionInfo{Tag: "v1.13.9"}}}}, nil
}

func (machineServer) Logs(_ *machine.LogsRequest, stream grpc.ServerStreamingServer[common.Data]) error {
	for i := range logLines {
		if err := stream.Send(&common.Data{Bytes: fmt.Appendf(nil, "line %d %s\n", i, bytes.Repeat([]byte("."), 80))}); err != nil {
			return err
		}
	}

	return nil
}

func resources(ctx context.Context) (state.State, error) {
	resourceState := state.WrapCore(namespaced.NewState(inmem.Build))

	for i := range links {
		if err := resourceState.Create(ctx, network.NewLinkStatus(network.NamespaceName, fmt.Sprintf("eth%d", i))); err != nil {
			return nil, err
		}
	}

	return resourceState, nil
}

// certificate makes one as a machine in maintenance shows it.
func certificate() (tls.Certificate, error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}

	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "maintenance-service.talos.dev"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}

	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)

	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func run() error {
	identity, err := certificate()
	if err != nil {
		return err
	}

	resourceState, err := resources(context.Background())
	if err != nil {
		return err
	}

	// Window sizes as in Talos's pkg/grpc/factory.
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{identity}})),
		grpc.InitialWindowSize(65535*32),
		grpc.InitialConnWindowSize(65535*16),
		grpc.SharedWriteBuffer(true),
	)
	machine.RegisterMachineServiceServer(server, machineServer{})
	v1alpha1.RegisterStateServer(server, cosi.NewState(resourceState))

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	if err = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"port":        listener.Addr().(*net.TCPAddr).Port,
		"certificate": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: identity.Certificate[0]})),
	}); err != nil {
		return err
	}

	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)

		server.Stop()
	}()

	return server.Serve(listener)
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
