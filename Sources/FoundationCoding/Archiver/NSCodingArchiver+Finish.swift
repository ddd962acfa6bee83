public import Foundation
public import KeyedArchive
import Synchronization

extension NSCodingArchiver {
    /// Completes the archive: from now on nothing can be encoded.
    public func finishEncoding() {
        guard !isFinished else { return }
        delegate?.archiverWillFinish(self)
        isFinished = true
        var top = frames[0]
        top.sealTypes()
        writer.setRoots(top)
        if let output { output.append(encodedData) }
        delegate?.archiverDidFinish(self)
    }

    /// Completes the archive and gives its bytes.
    ///
    /// - Throws: `ArchiveError`, what went wrong first.
    /// - Complexity: The size of the archive.
    public func data() throws -> Data {
        Data(try graph().bytes(format: outputFormat, limits: limits))
    }

    /// Completes the archive and gives its graph.
    ///
    /// - Throws: `ArchiveError`, what went wrong first.
    public func graph() throws -> ArchivedGraph {
        finishEncoding()
        if let failure { throw failure }
        return writer.graph
    }

    /// The bytes of the archive, which is completed; empty if something went wrong (see `error`).
    public var encodedData: Data {
        do {
            return try data()
        } catch {
            fail(error)
            return Data()
        }
    }

    // MARK: Class names

    /// Writes instances of a class under another name in this archive; nil for its own again.
    public func setClassName(_ name: String?, for type: AnyClass) { classMap[type] = name }

    /// The name set for a class in this archive.
    public func className(for type: AnyClass) -> String? { classMap[type] }

    /// Writes instances of a class under another name in all archives of the program; an archiver's own names go first.
    public class func setClassName(_ name: String?, for type: AnyClass) {
        ClassMap.archivers.withLock { $0[type] = name }
    }

    /// The name set for a class in all archives.
    public class func className(for type: AnyClass) -> String? { ClassMap.archivers.withLock { $0[type] } }
}
