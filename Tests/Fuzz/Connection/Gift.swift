import CPortShims
import Glibc

@testable import PortTransport

/// The descriptors that a peer sends with a `Share` frame.
enum Gift: UInt8, CaseIterable {
    case nothing, memory, turned, tooFew, tooMany, files, small, unsealed, halfSealed, wrongDoorbell, closedDoorbell

    /// The gift that a byte of the input selects.
    init(_ byte: UInt8) { self = Self.allCases[Int(byte) % Self.allCases.count] }

    /// The descriptors to send, which the caller closes, and the memory that the peer can use if they are valid.
    func make() -> (descriptors: [CInt], memory: HostileMemory?) {
        if self == .nothing { return ([], nil) }
        if self == .files { return ((0..<3).map { _ in open("/dev/null", O_RDWR | O_CLOEXEC) }, nil) }
        guard let made = HostileMemory() else { return ([], nil) }
        var given = made.descriptors.map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
        switch self {
        case .memory: return (given, made)
        case .turned: given.swapAt(1, 2)
        case .tooFew: port_close(given.removeLast())
        case .tooMany: given.append(fcntl(given[0], F_DUPFD_CLOEXEC, 10))
        case .small: replace(&given[0], port_memory_make(4_096))
        case .unsealed: replace(&given[0], Self.sealable())
        case .halfSealed:
            replace(&given[0], Self.sealable())
            // F_ADD_SEALS: F_SEAL_SHRINK alone.
            _ = fcntl(given[0], 1_033, CInt(2))
        case .wrongDoorbell: replace(&given[1], open("/dev/null", O_RDWR | O_CLOEXEC))
        case .closedDoorbell: for doorbell in 0..<2 { made.abuse(doorbell: doorbell, 4) }
        case .nothing, .files: break
        }
        return (given, nil)
    }

    private func replace(_ descriptor: inout CInt, _ other: CInt) {
        port_close(descriptor)
        descriptor = other
    }

    /// Memory of the right size that can still be sealed or made smaller.
    private static func sealable() -> CInt {
        typealias Make = @convention(c) (UnsafePointer<CChar>, CUnsignedInt) -> CInt
        guard let make = dlsym(nil, "memfd_create") else { return -1 }
        // MFD_CLOEXEC and MFD_ALLOW_SEALING.
        let memory = unsafeBitCast(make, to: Make.self)("fuzz", 1 | 2)
        _ = ftruncate(memory, off_t(HostileMemory.size))
        return memory
    }
}
