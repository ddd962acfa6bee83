public import Foundation
public import KeyedArchive
import Synchronization

extension NSCodingArchiver {
    /// Completes the archive; nothing can be encoded afterwards.
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

    /// Completes the archive and returns its bytes.
    ///
    /// - Throws: `ArchiveError`, the first one of the archive.
    /// - Complexity: Linear in the size of the archive.
    public func data() throws -> Data {
        Data(try graph().bytes(format: outputFormat, limits: limits))
    }

    /// Completes the archive and returns its graph.
    ///
    /// - Throws: `ArchiveError`, the first one of the archive.
    public func graph() throws -> ArchivedGraph {
        finishEncoding()
        if let failure { throw failure }
        return writer.graph
    }

    /// Completes the archive and returns its bytes, or no bytes after an error (see `error`).
    public var encodedData: Data {
        do {
            return try data()
        } catch {
            fail(error)
            return Data()
        }
    }

    // MARK: Class names

    /// Writes instances of a class under another name in this archive; nil restores its own name.
    public func setClassName(_ name: String?, for type: AnyClass) { classMap[type] = name }

    /// The name set for a class in this archive.
    public func className(for type: AnyClass) -> String? { classMap[type] }

    /// Writes instances of a class under another name in all archives; an archiver's own names take precedence.
    public class func setClassName(_ name: String?, for type: AnyClass) {
        ClassMap.archivers.withLock { $0[type] = name }
    }

    /// The name set for a class in all archives.
    public class func className(for type: AnyClass) -> String? { ClassMap.archivers.withLock { $0[type] } }
}
