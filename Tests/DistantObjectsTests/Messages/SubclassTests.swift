import DistantObjects
import TestSupport
import Testing

// The example in the documentation of `Vendable`.
private class Document: Vendable, @unchecked Sendable {
    class var messages: MessageTable<Document> {
        Message("title", Document.title)
        Message("pageCount", Document.pageCount)
    }
    func title() -> String { "document" }
    func pageCount() -> Int { 1 }
}

private class Invoice: Document, @unchecked Sendable {
    override class var messages: MessageTable<Document> {
        super.messages.extended(by: Message("total", Invoice.total), Message("discounted", Invoice.discounted))
    }
    override func title() -> String { "invoice" }
    func total() -> Int { 100 }
    func discounted(_ amount: Int) async throws -> Int { total() - amount }
}

private final class LateInvoice: Invoice, @unchecked Sendable {
    override class var messages: MessageTable<Document> {
        super.messages.extended(by: Message("fee", LateInvoice.fee))
    }
    override func total() -> Int { 100 + fee() }
    func fee() -> Int { 5 }
}

/// Lists a method of a class that it does not inherit from.
private final class Letter: Document, @unchecked Sendable {
    override class var messages: MessageTable<Document> {
        super.messages.extended(by: Message("total", Invoice.total))
    }
}

@Suite("Subclasses of a vendable class", .bounded())
struct SubclassTests {
    @Test("A subclass answers the messages of its superclass and its own")
    func subclassInSubclass() async throws {
        let pair = try await Pair()
        pair.server.vend(Invoice(), as: "invoice")
        let invoice = try await pair.client.root(named: "invoice")
        let title: String = try await invoice.title()
        let pages: Int = try await invoice.pageCount()
        let total: Int = try await invoice.total()
        let discounted: Int = try await invoice.discounted(30)
        #expect(title == "invoice")
        #expect(pages == 1)
        #expect(total == 100)
        #expect(discounted == 70)
        await expectCode(.noSuchMessage) { let _: Int = try await invoice.fee() }
    }

    @Test("A subclass of a subclass answers the messages of all three classes")
    func subclassOfSubclass() async throws {
        let pair = try await Pair()
        pair.server.vend(LateInvoice(), as: "invoice")
        let invoice = try await pair.client.root(named: "invoice")
        let title: String = try await invoice.title()
        let total: Int = try await invoice.total()
        let fee: Int = try await invoice.fee()
        #expect(title == "invoice")
        #expect(total == 105)
        #expect(fee == 5)
    }

    @Test("A class that lists a method of an unrelated class traps")
    func unrelatedClass() async {
        await #expect(processExitsWith: .failure) {
            let pair = try await Pair()
            pair.server.vend(Letter(), as: "letter")
            _ = try await pair.client.root(named: "letter")
        }
    }
}
