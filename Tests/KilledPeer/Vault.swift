import DistantObjects
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// An object that takes and makes bytes, and has its process killed while it has some.
final class Vault: Vendable {
    private let held = Mutex<[SharedBytes]>([])

    static var messages: MessageTable<Vault> {
        Message("isShared", Vault.isShared)
        Message("make", Vault.make)
        Message("hold", Vault.hold)
        Message("die", Vault.die)
        Message("dieWith", Vault.dieWith)
        Message("dieFilling", Vault.dieFilling)
    }

    func isShared(_ bytes: SharedBytes) -> Bool { bytes.isShared }
    func hold(_ bytes: SharedBytes) { held.withLock { $0.append(bytes) } }
    func die() { kill(getpid(), SIGKILL) }

    func make(_ count: Int) throws -> SharedBytes {
        guard let connection = Connection.current else { throw CancellationError() }
        return try connection.withBlob(byteCount: count) { _ = $0.initializeMemory(as: UInt8.self, repeating: 1) }
    }

    func dieWith(_ bytes: SharedBytes) { bytes.withUnsafeBytes { if $0[0] == 1 { die() } } }

    func dieFilling(_ count: Int) throws {
        guard let connection = Connection.current else { throw CancellationError() }
        _ = try connection.withBlob(byteCount: count) { _ in die() }
    }
}
